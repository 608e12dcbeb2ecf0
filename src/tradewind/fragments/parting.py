"""A fragment in parts, by whichever way it was cut: shares, which may go elsewhere with what they remember, and what
brings them together, which stays and goes on with what the fragment gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema
from tradewind.fragments.deployed import Channel, Deployed, Fragment, above


class Parting(Protocol):
    """How a fragment is cut. All of it follows from the fragment and a term, so that everybody cuts it in the same way;
    no two cuts of a deployment have the same term.
    """

    @property
    def whole(self) -> Fragment:
        """The fragment."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns whose hash tells which share a row is in; none where there is one share only."""

    @property
    def channel_names(self) -> tuple[str, ...]:
        """The channels from the shares to what brings them together: others each time that it is cut."""

    @property
    def shares(self) -> tuple[Fragment, ...]:
        """The shares, all where the fragment is."""

    @property
    def together(self) -> Fragment:
        """What reads the shares."""

    def require_sound(self, deployed: Deployed) -> None:
        """Refuse it where others would notice."""

    def twins(self, number: int) -> Mapping[Operator, Operator]:
        """What a share does in the place of each operator whose memory it goes on with,"""

    def only(self, number: int) -> tuple[Expression, Schema] | None:
        """and the rows of that memory that are its own: a condition on the columns of a schema; None is all."""

    def after(self) -> Mapping[Operator, Operator]:
        """What is done, where shares come together, in the place of each operator that they do not do."""


def channels(parting: Parting, known: Mapping[str, Channel]) -> tuple[Channel, ...]:
    """The channels of the shares, given those that the fragment reads. Each has the origins of those that it is made
    of: on it nothing is ever promised of others.
    """
    found: list[Channel] = []
    for one in parting.shares:
        for name in (name for name in one.outputs if name in parting.channel_names):
            made = list(above(Graph(((name, one.graph[name]),)), one.inputs.values()))
            reached = {one.graph[name], *(child for node in made for child in node.inputs)}
            read = [channel for channel, node in one.inputs.items() if node in reached]
            origins = dict.fromkeys(origin for channel in read for origin in known[channel].origins)
            found.append(Channel(name, one.graph[name], one.site, tuple(origins)))
    return tuple(found)


def split(deployed: Deployed, parting: Parting) -> Deployed:
    """What runs with a fragment in parts, all where it was."""
    parting.require_sound(deployed)
    fragments: list[Fragment] = []
    for one in deployed.fragments:
        fragments += [*parting.shares, parting.together] if one.name == parting.whole.name else [one]
    more = {one.name: one for one in channels(parting, deployed.channels)}
    return Deployed(tuple(fragments), {**deployed.channels, **more}, deployed.had)


def merged(deployed: Deployed, parting: Parting) -> Deployed:
    """What runs with the fragment whole again, wherever the shares are."""
    parts = {one.name for one in places(deployed, parting)}
    fragments = [
        parting.whole if one.name == parting.together.name else one
        for one in deployed.fragments
        if one.name not in parts
    ]
    channels = {name: one for name, one in deployed.channels.items() if name not in parting.channel_names}
    return Deployed(tuple(fragments), channels, deployed.had)


def places(deployed: Deployed, parting: Parting) -> tuple[Fragment, ...]:
    """The shares where they are."""
    found = {one.name: one for one in map(deployed.writer, parting.channel_names)}
    return tuple(found.values())


def bound_to_site(fragment: Fragment) -> str | None:
    """Why what a fragment does cannot be done elsewhere, if that is so."""
    if fragment.sources:
        return "it reads streams where they arise."
    if any(isinstance(node, Read | Update) for node in fragment.operators):
        return "it works on a stored table, which is kept there."
    return None

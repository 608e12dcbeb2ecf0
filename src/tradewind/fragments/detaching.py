"""A fragment whose answers are delivered by another one, so that its work can go elsewhere.

Answers are delivered where the file says; what they are made by may be anywhere. The work keeps all that the fragment
remembers for its operators, its place on the channels that it reads, and the channels that it writes; what was told of
the answers stays with who delivers them, and reads them from channels as if they had always come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.errors import InputError
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.fragments.parting import bound_to_site


@dataclass(frozen=True)
class Detaching:
    """A fragment, where it is, cut into its work and what delivers its answers."""

    whole: Fragment
    term: int

    def __post_init__(self) -> None:
        if bound_to_site(self.whole) or not (self.whole.answers and self.whole.operators):
            raise InputError(f"fragment {self.whole.name!r} has no work that could be set apart from its answers.")

    @property
    def keys(self) -> tuple[str, ...]:
        """None: there is one share."""
        return ()

    @cached_property
    def _answers(self) -> dict[str, Operator]:
        """By channel, what is delivered: the same for several queries once."""
        nodes = dict.fromkeys(self.whole.graph[name] for name in self.whole.answers)
        return {f"answer-{self.term}-{number + 1}": node for number, node in enumerate(nodes)}

    @property
    def channel_names(self) -> tuple[str, ...]:
        """The channels of the answers: others each time that they are set apart."""
        return tuple(self._answers)

    @cached_property
    def shares(self) -> tuple[Fragment, ...]:
        """The work."""
        sent = tuple((name, self.whole.graph[name]) for name in self.whole.outputs)
        graph = Graph((*sent, *self._answers.items()))
        return (replace(self.whole, graph=graph, outputs=(*self.whole.outputs, *self._answers), answers=()),)

    @cached_property
    def together(self) -> Fragment:
        """What delivers."""
        graph = Graph(tuple((name, self.whole.graph[name]) for name in self.whole.answers))
        return replace(self.whole, graph=graph, inputs=dict(self._answers), outputs=())

    def require_sound(self, deployed: Deployed) -> None:
        """Nobody notices: rows keep their order on the way."""

    def twins(self, number: int) -> Mapping[Operator, Operator]:
        """Each operator goes on as it is."""
        del number
        return {node: node for node in self.whole.operators}

    def only(self, number: int) -> None:
        """All rows are its own."""

    def after(self) -> Mapping[Operator, Operator]:
        """Nothing is done where answers are delivered."""
        return {}

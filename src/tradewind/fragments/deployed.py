"""What a deployment runs: fragments at sites, and the channels between them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update

Origin = tuple[str, str]
"""A stream, and the site where some of its rows arise."""


@dataclass(frozen=True, slots=True)
class Channel:
    """What one operator gives, durable, from the site where it is made to all others that it is read at.

    `origins` are where its rows come from in the end. `hops` are the links that it crosses, each from a site that has
    it to one that then has it; every row crosses each of them once, however many read it behind.
    """

    name: str
    operator: Operator
    site: str
    origins: tuple[Origin, ...]
    hops: tuple[tuple[str, str], ...] = ()

    @property
    def sites(self) -> tuple[str, ...]:
        """Where it is to be had."""
        return self.site, *(end for _, end in self.hops)


@dataclass(frozen=True)
class Fragment:
    """The operators that run together at a site, as one query.

    The graph reaches down to the sources, so that everything that is known of an operator follows from it; the nodes
    that `inputs` name come by channels, and nothing below them runs here. Its results are channels, named by
    `outputs`, and answers of queries, named by `answers`.
    """

    site: str
    graph: Graph
    inputs: Mapping[str, Operator] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    @cached_property
    def name(self) -> str:
        """Its name: fragments that do the same at the same site have the same one."""
        digest = hashlib.blake2b(self.site.encode(), digest_size=5)
        for name, node in sorted(self.graph.results):
            digest.update(f"|{name}={node.fingerprint}".encode())
        for name, node in sorted(self.inputs.items()):
            digest.update(f"|<{name}={node.fingerprint}".encode())
        return f"{self.site}-{digest.hexdigest()}"

    @cached_property
    def operators(self) -> tuple[Operator, ...]:
        """What runs here, inputs first; not what comes by channels."""
        return tuple(above(self.graph, self.inputs.values()))

    @cached_property
    def sources(self) -> tuple[Origin, ...]:
        """The streams that are read here, where they arise."""
        return tuple(dict.fromkeys(place for node in self.operators for place in _own_origins(node)))


@dataclass(frozen=True)
class Deployed:
    """All fragments and channels of a plan; those that give come before those that take."""

    fragments: tuple[Fragment, ...]
    channels: Mapping[str, Channel]
    had: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The channels by which the plan's contents are to be had at sites."""

    def __or__(self, more: Deployed) -> Deployed:
        """With what was attached to it."""
        return Deployed(
            (*self.fragments, *more.fragments), {**self.channels, **more.channels}, {**self.had, **more.had}
        )

    def writer(self, channel: str) -> Fragment:
        """The fragment that gives a channel."""
        return next(one for one in self.fragments if channel in one.outputs)

    def readers(self, channel: str) -> tuple[Fragment, ...]:
        """The fragments that take a channel."""
        return tuple(one for one in self.fragments if channel in one.inputs)

    def to_json(self) -> dict[str, Any]:
        """Plain data, for those who show what runs."""
        return {
            "fragments": [
                {
                    "name": one.name,
                    "site": one.site,
                    "reads": [f"{stream}/{origin}" for stream, origin in one.sources],
                    "inputs": list(one.inputs),
                    "outputs": list(one.outputs),
                    "answers": list(one.answers),
                    "operators": [node.kind for node in one.operators],
                }
                for one in self.fragments
            ],
            "channels": [
                {"name": one.name, "site": one.site, "hops": [list(hop) for hop in one.hops]}
                for one in self.channels.values()
            ],
        }


def above(graph: Graph, given: Iterable[Operator]) -> Iterator[Operator]:
    """Every operator of a graph that is not given or below what is given, inputs first."""
    known = frozenset(given)
    seen: set[Operator] = set()
    stack = [(node, False) for _, node in reversed(graph.results)]
    while stack:
        node, ready = stack.pop()
        if node in seen or node in known:
            continue
        if ready:
            seen.add(node)
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node.inputs))


def origins_of(operator: Operator, updates: Iterable[Update] = ()) -> tuple[Origin, ...]:
    """The streams that an operator's rows come from, each with the site where they arise: those that update a table
    too, where it reads one.
    """
    known = list(updates)
    found: dict[Origin, None] = {}
    waiting: list[Operator] = [operator]
    seen: set[Operator] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        found.update(dict.fromkeys(_own_origins(node)))
        waiting.extend(node.inputs)
        if isinstance(node, Read):
            waiting.extend(one for one in known if one.table.name == node.table.name)
    return tuple(found)


def _own_origins(node: Operator) -> tuple[Origin, ...]:
    return tuple((node.stream, origin) for origin in node.origins) if isinstance(node, Source) else ()

"""A fragment split by key: the groups of its grouping dealt out to shares, and what brings the shares together.

Idea
----
Each share reads what the fragment read, keeps the rows whose keys hash to its number as early as it can, and does the
fragment's grouping over them. What brings them together reads all shares, does what the fragment did above its
grouping, and goes on with the fragment's own channels and answers: whoever reads these notices nothing. No two shares
have a group in common, so what the grouping remembers is dealt out by the same hash, and put together again by adding
up.

References
----------
Aurora* calls this box splitting: a filter in front, a merge behind [Cherniack et al., CIDR 2003].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tradewind.algebra.expressions.tree import Column, Expression
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Merge, Partial
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Filter, Join, Map, Source, Union
from tradewind.algebra.properties import linear, order_sensitive, row_local
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import is_fraction
from tradewind.algebra.windows import CountedWindow, ValueWindow
from tradewind.errors import InputError
from tradewind.fragments.deployed import Deployed, Fragment, above
from tradewind.fragments.parting import bound_to_site
from tradewind.rewrites.split_by_key import exchanged, in_share, split_keys

MOST = 32
"""Shares of a fragment."""


@dataclass(frozen=True)
class Sharing:
    """A fragment that is split, where it is, into so many shares."""

    whole: Fragment
    count: int
    term: int

    def __post_init__(self) -> None:
        if not 2 <= self.count <= MOST:
            raise InputError(f"a fragment is split into 2 to {MOST} shares, not into {self.count}.")
        _ = self.keys, self.together  # a fragment that cannot be split is refused at once

    @cached_property
    def grouping(self) -> Operator:
        """The operator whose groups are dealt out: all that the fragment gives is made of what it gives."""
        nodes = self.whole.operators
        bound = bound_to_site(self.whole)
        if bound is not None:
            raise _refused(self.whole, bound)
        found = [node for node in nodes if _splits(node) and self._rests_on(node)]
        # What remembers something is what there is to share.
        best = [node for node in found if isinstance(node, Aggregate | Merge)] or found
        if not best:
            raise _refused(self.whole, "it has no grouping that everything it gives is made of.")
        below = set(walk(best[0])) - {best[0]}
        if any(node in below and not forgets(node) for node in nodes):
            raise _refused(self.whole, "what its grouping reads is made of what is remembered.")
        return best[0]

    def _rests_on(self, node: Operator) -> bool:
        """Whether nothing gets past an operator."""
        ends = set(self.whole.inputs.values())
        over = list(above(self.whole.graph, [node]))
        return not any(one in ends or isinstance(one, Source) for one in over)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The columns whose hash tells which share a row is in."""
        over = self.over
        # Fractions have two zeros, which are one group and hash apart.
        found = tuple(key for key in split_keys(self.grouping, over) if _hashes(over, key))
        if not found:
            raise _refused(self.whole, "its groups are not told apart by a column that can be hashed.")
        return found

    @property
    def over(self) -> Operator:
        """What the grouping reads."""
        return self.grouping.inputs[0]

    @cached_property
    def _last(self) -> Operator:
        """The last operator that shares do: the grouping, or what looks at each of its rows alone."""
        nodes, ends = self.whole.operators, {node for _, node in self.whole.graph.results}
        last = self.grouping
        while last not in ends:
            readers = [node for node in nodes if last in node.inputs]
            if len(readers) != 1 or not row_local(readers[0]):
                break
            last = readers[0]
        return last

    def only(self, number: int) -> tuple[Expression, Schema]:
        """Whether a row is in a share, by columns of what the grouping reads."""
        return in_share(self.keys, number, self.count), self.over.schema

    def twins(self, number: int) -> Mapping[Operator, Operator]:
        """What a share does in the place of the grouping: nothing else that shares do is remembered."""
        return {self.grouping: self._share_of(self.grouping, number)}

    def _share_of(self, node: Operator, number: int) -> Operator:
        """What a share does in the place of an operator."""
        return exchanged(node, {self.over: self._dealt(self.over, self.keys, number)})

    def _dealt(self, node: Operator, keys: tuple[str, ...], number: int) -> Operator:
        """The rows of an operator that are in a share, chosen as early as their keys are there: what is made of them
        before the grouping is then shared, too.
        """
        given = set(self.whole.inputs.values())
        if node not in given:
            if isinstance(node, Union) and not given.issuperset(node.members):
                return node.with_inputs(tuple(self._dealt(child, keys, number) for child in node.members))
            if isinstance(node, Filter) or (isinstance(node, Partial | Combine) and set(keys) <= set(node.keys)):
                return node.with_inputs((self._dealt(node.input, keys, number),))
            if isinstance(node, Map):
                made = dict(node.columns)
                plain = tuple(one.name for key in keys if isinstance(one := made[key], Column))
                if len(plain) == len(keys):
                    return node.with_inputs((self._dealt(node.input, plain, number),))
        return Filter(node, in_share(keys, number, self.count))

    @cached_property
    def channel_names(self) -> tuple[str, ...]:
        """The channels by which the shares' rows come together: others each time that it is split."""
        return tuple(f"share-{self.term}-{number + 1}-of-{self.count}" for number in range(self.count))

    @cached_property
    def shares(self) -> tuple[Fragment, ...]:
        """The shares, all where the fragment is."""
        whole, found = self.whole, []
        for number, name in enumerate(self.channel_names):
            graph = Graph(((name, self._share_of(self._last, number)),))
            found.append(Fragment(whole.site, graph, dict(whole.inputs), (name,)))
        return tuple(found)

    @cached_property
    def together(self) -> Fragment:
        """What reads all shares, and goes on with what the fragment gave."""
        union = Union(tuple(one.graph[name] for one, name in zip(self.shares, self.channel_names, strict=True)))
        news = {self._last: union}
        results = tuple((name, exchanged(node, news)) for name, node in self.whole.graph.results)
        for (_, old), (_, new) in zip(self.whole.graph.results, results, strict=True):
            if old.schema != new.schema or old.append_only != new.append_only:
                raise _refused(self.whole, "what it gives would be known less well.")
        given = dict(zip(self.channel_names, union.members, strict=True))
        return replace(self.whole, graph=Graph(results), inputs=given)

    def after(self) -> Mapping[Operator, Operator]:
        """What is done, where shares come together, in the place of each operator that they do not do."""
        union = Union(tuple(self.together.inputs.values()))
        return {node: exchanged(node, {self._last: union}) for node in above(self.whole.graph, [self._last])}

    def require_sound(self, deployed: Deployed) -> None:
        """Shares come together in any order: nothing behind them may depend on one."""
        own = set(self.whole.operators)
        ordered = [node for one in deployed.fragments for node in one.operators if order_sensitive(node)]
        if any(node in own for node in walk(*ordered)):
            raise _refused(self.whole, "something depends on the order in which its rows come.")


def _refused(fragment: Fragment, why: str) -> InputError:
    return InputError(
        f"fragment {fragment.name!r} cannot be split: {why}",
        where="split",
        hint="what merges for a query that groups by a column can be: tradewind explain shows the groups.",
    )


def _splits(node: Operator) -> bool:
    """Whether what an operator remembers can be dealt out by its keys."""
    if isinstance(node, Aggregate):
        neighbours = isinstance(node.window, CountedWindow) or (
            isinstance(node.window, ValueWindow) and not node.window.aligned
        )
        return not neighbours
    return isinstance(node, Merge | Partial | Combine)


def forgets(node: Operator) -> bool:
    """Whether an operator remembers nothing."""
    return isinstance(node, Partial | Combine) or (linear(node) and not isinstance(node, Join))


def _hashes(over: Operator, key: str) -> bool:
    type_ = over.schema.type_of(key)
    return not is_fraction(type_) and not type_.fields

"""Windows with their members: which of them are new or gone, and the table that lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, differs, joined, stretches
from tradewind.spark.buckets.operator import COUNT, PANE, PANE_DUE, PANE_WINDOW, SIGN
from tradewind.spark.buckets.store import Merged

_Hashes = npt.NDArray[np.uint64]
_SALTS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)


class Panes(NamedTuple):
    """Stretches of a list of members: pane i holds the `length[i]` members from `first[i]` on."""

    member: Ints
    """Numbers of merged rows, those of one pane in order."""
    often: Ints | None
    """How often each is there; None for once each. The same row may follow itself."""
    first: Ints
    length: Ints
    place: Ints
    """What tells panes with equal members apart."""

    def only(self, chosen: Flags) -> Panes:
        """Some of the panes."""
        if chosen.all():
            return self
        # Picking by number is several times faster than by flag.
        places = np.flatnonzero(chosen)
        return self._replace(
            first=self.first.take(places), length=self.length.take(places), place=self.place.take(places)
        )


def differing(old: Panes, new: Panes) -> tuple[Flags, Flags]:
    """Which of the old panes are not among the new ones, and the other way round; of equal ones, as many as differ."""
    many = len(old.first)
    if not many or not len(new.first):
        return np.ones(many, dtype=np.bool_), np.ones(len(new.first), dtype=np.bool_)
    one, two = (np.concatenate([_print(old, salt), _print(new, salt)]).view(np.int64) for salt in _SALTS)
    order = np.argsort(one)
    begins = differs([one.take(order), two.take(order)])
    if (begins & ~differs([one.take(order)])).any():
        order = np.lexsort((two, one))
        begins = differs([one.take(order), two.take(order)])
    starts, lengths = stretches(begins)
    is_old = order < many
    before: Ints = np.cumsum(is_old) - is_old
    olds = np.add.reduceat(is_old, starts, dtype=np.int64)
    # Of each kind there are as many left as there are more of it than of the other.
    paired = np.repeat(np.minimum(olds, lengths - olds), lengths)
    nth_old: Ints = before - np.repeat(before.take(starts), lengths)
    nth_new = np.arange(len(order)) - np.repeat(starts, lengths) - nth_old
    kept = np.empty(len(order), dtype=np.bool_)
    kept[order] = np.where(is_old, nth_old, nth_new) >= paired
    return kept[:many], kept[many:]


def _print(panes: Panes, salt: int) -> _Hashes:
    """A number that only panes of equal members and place share: a sum of random numbers, one for each member."""
    each = _mixed(panes.member, salt)
    if panes.often is not None:
        each *= panes.often.astype(np.uint64)
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(each, dtype=np.uint64)])
    total = sums[panes.first + panes.length] - sums[panes.first]
    return np.asarray(total + _mixed(panes.place, salt ^ 0x5851F42D4C957F2D))


def _mixed(numbers: Ints, salt: int) -> _Hashes:
    """The finish of SplitMix64, which makes any numbers look random."""
    found = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(salt)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found ^= found >> np.uint64(shift)
        found *= np.uint64(factor)
    return found ^ (found >> np.uint64(31))


def listed(merged: Merged, names: Sequence[str], sides: Sequence[Panes], windows: Array, due: Ints) -> Array:
    """The panes of both sides, those that are taken back and those that appear, as a table of their members with the
    named columns.

    `windows` and `due` are for all of them, one side after the other.
    """
    parts = [_members(panes) for panes in sides]
    before = (0, len(sides[0].first))
    pane = joined([part[0] + start if start else part[0] for part, start in zip(parts, before, strict=True)])
    member = joined([part[1] for part in parts])
    sign = np.ones(len(pane), dtype=np.int64)
    sign[: len(parts[0][0])] = -1
    spread = pa.array(pane)
    rows = merged.table.select(list(names)).take(pa.array(merged.rows.take(member)))
    return pa.table(
        {
            PANE: spread,
            SIGN: sign,
            COUNT: joined([part[2] for part in parts]),
            PANE_WINDOW: windows.take(spread),
            PANE_DUE: moments(due).take(spread),
        }
        | {name: rows.column(name) for name in names}
    )


def _members(panes: Panes) -> tuple[Ints, Ints, Ints]:
    """The number of the pane, the row, and how often it is there, for each member of each pane."""
    pane = np.repeat(np.arange(len(panes.first)), panes.length)
    place = np.repeat(panes.first - (np.cumsum(panes.length) - panes.length), panes.length)
    place += np.arange(len(place))
    member = panes.member.take(place)
    often = np.ones(len(pane), dtype=np.int64) if panes.often is None else panes.often.take(place)
    if not (panes.member[1:] == panes.member[:-1]).any():
        return pane, member, often
    starts = np.flatnonzero(differs([pane, member]))
    return pane[starts], member[starts], np.add.reduceat(often, starts)


def moments(due: Ints) -> Array:
    """Settle times as a column: FOREVER is NULL."""
    endless = due == FOREVER
    return pa.array(due, mask=endless if endless.any() else None)

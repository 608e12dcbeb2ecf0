"""What flows between the rounds of a threshold top: general rules cannot know how many groups reach a threshold.

A window is looked at several times while it fills, as often as partials are shipped. Each time the groups with new rows
are sent that reach the threshold of that time; candidates are sent when they become such, or cease to be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.types import MICROS
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.flow import Flow
from tradewind.cost.groups import expected_groups
from tradewind.cost.thresholds import Expected, expected_rounds
from tradewind.rewrites.partials import partials
from tradewind.rewrites.rounds import Rounds

_LOOKS = 4
"""A window that is looked at more often is taken to be looked at so often, for each of several times."""


@dataclass(frozen=True, slots=True)
class Given:
    """How many rows a part of the rounds gives in a second, and how far apart its batches are."""

    node: Operator
    rows_per_second: float
    seconds: float
    groups: float | None = None
    """Of how many groups these are rows; None where each row is a group of its own."""
    like: Operator | None = None
    """Another node with columns of the same values; None where general rules know what the part's own hold."""

    def flow(self, general: Flow) -> Flow:
        """What flows out of the part, given what general rules say of it."""
        # Groups are not drawn from the keys as rows are: there are not fewer because some are likelier.
        columns = {name: replace(column, skew=0.0) for name, column in general.columns.items()}
        if self.groups is not None:
            most = max(1.0, self.groups)
            columns = {n: replace(c, distinct=min(most, c.distinct or most)) for n, c in columns.items()}
        rows = self.rows_per_second
        return Flow(rows, columns, general.streams, self.seconds, rows, read_per_second=general.read_per_second)


def given(rounds: Rounds, flow: Callable[[Operator], Flow], assumed: Assumptions) -> Iterator[Given]:
    """What each part of the rounds gives that may travel, inputs first."""
    seconds = assumed.flush_seconds(rounds.window, flow(rounds.whole).streams)
    size, step = rounds.window.size / MICROS, rounds.window.step / MICROS
    rows = [flow(part).rows_per_second * size for part in rounds.parts]
    sets, keys = _sets(rounds, flow(rounds.whole.input), sum(rows), assumed)
    batches = max(1.0, size / seconds)
    looks = _looks([one / sets for one in rows], keys, rounds.k, batches)

    def rate(in_window: float) -> float:
        return in_window * sets / step

    for number, first in enumerate(rounds.first):
        own = fmean(expected_groups(one.rows[number], keys) for one in looks)
        yield Given(first, rate(min(float(rounds.k), own) * batches), seconds)
    yield Given(rounds.threshold, rate(batches), seconds)
    for number, sent in enumerate(rounds.sent):
        yield Given(sent, rate(fmean(one.found.sent[number] for one in looks) * batches), seconds)
    yield Given(rounds.seen, rate(fmean(one.found.seen for one in looks) * batches), seconds)
    yield Given(rounds.candidates, rate(_changes([one.found.candidates for one in looks])), seconds)
    for number, exact in enumerate(rounds.exact):
        if rounds.from_answers:
            yield Given(exact, rate(fmean(one.found.exact[number] for one in looks) * batches), seconds)
        else:
            last = looks[-1].found
            yield Given(exact, rate(last.rows[number]), seconds, last.candidates * sets)
    left = max(rounds.k, fmean(one.found.candidates for one in looks))
    most = flow(rounds.whole).rows_per_second
    yield Given(rounds.answer, min(rate(left * batches), most), seconds, like=rounds.whole)


def pays(rounds: Rounds, flow: Callable[[Operator], Flow]) -> bool:
    """Whether some input sends less in the first two rounds than as partials of all its groups.

    Where none does, there is no network in which rounds would cost less.
    """
    parts = partials(rounds.whole)
    if parts is None:
        return True
    return any(
        sum(flow(one).bytes_per_second for one in sent) < flow(parts.states(frozenset([number]))).bytes_per_second
        for number, sent in enumerate(zip(rounds.first, rounds.sent, strict=True))
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """A window that has been filled up to some share."""

    rows: Sequence[float]
    found: Expected


def _looks(rows: Sequence[float], keys: tuple[tuple[float, float], ...], k: int, batches: float) -> list[_Look]:
    """The window after some of its batches, evenly spread, the last among them."""
    count = min(_LOOKS, round(batches))
    found = []
    for look in range(1, count + 1):
        share = look / count
        filled = tuple(one * share for one in rows)
        found.append(_Look(filled, expected_rounds(filled, keys, k, min(1.0, 1 / (share * batches)))))
    return found


def _sets(
    rounds: Rounds, united: Flow, rows: float, assumed: Assumptions
) -> tuple[float, tuple[tuple[float, float], ...]]:
    """In how many sets the groups of a window fall, and the keys that tell those of one set apart."""
    schema = rounds.whole.input.schema
    known = {
        key: (assumed.values(united.columns[key], schema.type_of(key)), united.columns[key].skew)
        for key in rounds.whole.keys
    }
    sets = expected_groups(rows, [known[key] for key in rounds.per]) if rounds.per else 1.0
    return max(1.0, sets), tuple(known[key] for key in rounds.whole.keys if key not in rounds.per)


def _changes(numbers: Sequence[float]) -> float:
    """How many come and go while their number changes so."""
    return numbers[0] + sum(abs(after - before) for before, after in pairwise(numbers))

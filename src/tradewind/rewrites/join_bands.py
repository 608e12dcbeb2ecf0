"""Bands between the inputs of several joins: as conditions, and what they say of times by way of other inputs.

A join asks one band. All other bands between its sides are conditions of a filter above it, and which band the join
asks decides which columns tell the time of its rows. Bands add up: where b is at most 5 seconds after a, and c at most
5 seconds after b, c is at most 10 seconds after a. So two inputs that no band ties may be joined within such a sum, and
the join of them still tells the time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tradewind.algebra.expressions.distances import AGES, Distance
from tradewind.algebra.expressions.tree import Call, Cast, Column, Expression, Literal
from tradewind.algebra.expressions.typing import require_boolean
from tradewind.algebra.operators.core import Band
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BIGINT, DOUBLE, INTERVAL, TIMESTAMP, DataType, common, decimal, is_integer

Pair = tuple[str, str]
_WIDE = decimal(20, 0)
"""Holds every BIGINT, and its distances do not overflow."""


def conditions_of(band: Band, schema: Schema) -> tuple[Expression, ...] | None:
    """What a filter above a join asks instead of a band on columns of a schema; None where it cannot ask the same.

    Distances of DECIMALs are rounded by expressions, and not by bands.
    """
    types = schema.type_of(band.left), schema.type_of(band.right)
    if types == (TIMESTAMP, TIMESTAMP):
        found = _of_times(band)
    elif all(map(is_integer, types)):
        found = _of_numbers(band, _WIDE)
    elif (shared := common(*types)) is not None and shared.name in ("FLOAT", "DOUBLE"):
        found = _of_numbers(band, DOUBLE)
    else:
        found = None
    return None if found is None else tuple(require_boolean(condition, schema) for condition in found)


def _of_times(band: Band) -> list[Expression] | None:
    left, right = Column(band.left), Column(band.right)
    bounds = [(sign, bound) for sign, bound in ((">=", band.low), ("<=", band.high)) if bound is not None]
    if any(2 * AGES + abs(bound) >= 2**63 for _, bound in bounds):
        return None  # the sum would overflow
    return [Call(sign, (right, _moved(left, int(bound)))) for sign, bound in bounds]


def _moved(column: Column, by: int) -> Expression:
    return Call("+" if by > 0 else "-", (column, Literal(abs(by), INTERVAL))) if by else column


def _of_numbers(band: Band, type_: DataType) -> list[Expression]:
    apart = Call("-", (Cast(Column(band.right), type_), Cast(Column(band.left), type_)))
    found: list[Expression] = []
    if type_ == DOUBLE:
        bounds = [(sign, float(b)) for sign, b in ((">=", band.low), ("<=", band.high)) if b is not None]
        found += [Call(sign, (apart, Literal(bound, DOUBLE))) for sign, bound in bounds]
        if band.high is None:
            # NaN is greater than all numbers, but at no distance.
            found.append(Call("not", (Call("isnan", (apart,)),)))
        return found
    if band.low is not None:
        found.append(Call(">=", (apart, Literal(math.ceil(band.low), BIGINT))))
    if band.high is not None:
        found.append(Call("<=", (apart, Literal(math.floor(band.high), BIGINT))))
    return found


@dataclass(frozen=True)
class TimeBands:
    """What is known of how far times of several inputs are apart, in every row of their join."""

    distances: tuple[Distance, ...]
    """What conditions between two inputs say of two of their columns."""
    equal: tuple[Pair, ...]
    """Columns of times that are equal."""
    lags: Mapping[str, int]
    """The columns of inputs that tell the time."""
    first: str | None
    """The column by which the answer tells the time."""

    @cached_property
    def direct(self) -> dict[Pair, Band]:
        """The band that conditions ask between two columns, in both directions."""
        found: dict[Pair, Band] = {}
        for one in self.distances:
            for band in (Band(one.left, one.right, one.low, one.high), turned(one)):
                known = found.get((band.left, band.right))
                found[band.left, band.right] = band if known is None else _both(known, band)
        return found

    @cached_property
    def most(self) -> dict[Pair, int]:
        """By how much the second column exceeds the first one at most; bounds that add up to all of time are none."""
        found: dict[Pair, int] = {}
        for (a, b), band in self.direct.items():
            if band.high is not None:
                found[a, b] = int(band.high)
        for a, b in self.equal:
            for pair in ((a, b), (b, a)):
                found[pair] = min(0, found.get(pair, 0))
        names = sorted({name for pair in found for name in pair})
        for middle, a, b in product(names, repeat=3):
            if a != b and (a, middle) in found and (middle, b) in found:
                way = found[a, middle] + found[middle, b]
                if abs(way) < AGES and way < found.get((a, b), AGES):
                    found[a, b] = way
        return found

    @cached_property
    def order(self) -> dict[str, int]:
        """Columns that tell the time, in the order in which joins should keep them: the answer's, and what is near."""
        near: dict[str, list[str]] = {}
        for a, b in sorted({*self.direct, *self.equal, *((b, a) for a, b in self.equal)}):
            near.setdefault(a, []).append(b)
        found: dict[str, int] = {}
        for start in [*([self.first] if self.first in near else []), *sorted(near)]:
            waiting = deque([start])
            while waiting:
                name = waiting.popleft()
                if name not in found:
                    found[name] = len(found)
                    waiting.extend(near[name])
        return {name: place for name, place in found.items() if name in self.lags}

    def provided(self, left: Sequence[str], right: Sequence[str]) -> set[str]:
        """The columns that can tell the time of a join whose sides tell it by these."""
        pairs = [*product(left, right), *product(right, left)]
        return {one for one, other in pairs if (one, other) in self.most}

    def chosen(self, left: Sequence[str], right: Sequence[str], wanted: str) -> Band:
        """The band of a join whose sides tell the time by these columns, so that it tells it by a wanted one.

        Bands that were asked come before those that follow from others.
        """
        pairs = [(x, y) for x, y in product(left, right) if self._keeps(x, y, wanted)]
        asked = [(x, y) for x, y in pairs if (x, y) in self.direct and _bound(self.direct[x, y], x == wanted)]
        if asked:
            return self.direct[asked[0]]
        x, y = pairs[0]
        high, low = self.most.get((x, y)), self.most.get((y, x))
        if high is not None and low is not None and -low > high:
            # Nothing satisfies all conditions; a join has no empty band, so one end of it is enough.
            return Band(x, y, None, high) if x == wanted else Band(x, y, -low, None)
        return Band(x, y, None if low is None else -low, high)

    def _keeps(self, x: str, y: str, wanted: str) -> bool:
        return (x == wanted and (x, y) in self.most) or (y == wanted and (y, x) in self.most)


def _bound(band: Band, left: bool) -> bool:
    """Whether the band tells when rows with a value of its left, or right, column are all there."""
    return (band.high if left else band.low) is not None


def turned(band: Band | Distance) -> Band:
    """A band, its ends exchanged."""
    low, high = (None if bound is None else -bound for bound in (band.high, band.low))
    return Band(band.right, band.left, low, high)


def _both(one: Band, other: Band) -> Band:
    """What both ask together; only one of them where no distance is within both, as a join has no empty band."""
    low = max((band.low for band in (one, other) if band.low is not None), default=None)
    high = min((band.high for band in (one, other) if band.high is not None), default=None)
    return one if low is not None and high is not None and low > high else Band(one.left, one.right, low, high)


def said(distances: Iterable[Distance], band: Band) -> set[Expression]:
    """The conditions that need not be asked where a join asks a band."""
    return {d.condition for d in distances if d.exact and _implied(d, band)}


def _implied(distance: Distance, band: Band) -> bool:
    if (distance.left, distance.right) == (band.right, band.left):
        band = turned(band)
    if (distance.left, distance.right) != (band.left, band.right):
        return False
    enough_low = distance.low is None or (band.low is not None and band.low >= distance.low)
    return enough_low and (distance.high is None or (band.high is not None and band.high <= distance.high))

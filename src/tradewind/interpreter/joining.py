"""The meaning of join and waitfor: rows that meet rows of another stream."""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.operators.core import Band, Join
from tradewind.algebra.operators.ordered import WaitFor, pair_schema
from tradewind.algebra.types import common
from tradewind.interpreter.casts import convert
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.evaluate import condition
from tradewind.interpreter.rows import FOREVER, Bag, Row, Time, Values, is_final, moment
from tradewind.interpreter.values import Value


def join(node: Join, left: Bag, right: Bag, mark: Time) -> Bag:
    """All pairs that match, and for outer kinds the rows that are settled to have no match."""
    matches = _matcher(node)
    key_left, key_right = _keys(node)
    by_key: dict[Values, list[tuple[Row, int]]] = {}
    for row, weight in right.items():
        by_key.setdefault(key_right(row), []).append((row, weight))
    answer: Bag = Bag()
    matched: set[tuple[str, Row]] = set()
    for one, weight in left.items():
        key = key_left(one)
        for two, other in by_key.get(key, ()) if None not in key else ():
            if matches(one, two):
                answer[Row(one.values + two.values, max(one.due, two.due))] += weight * other
                matched |= {("left", one), ("right", two)}
    for side, rows in (("left", left), ("right", right)):
        if node.how in (side, "full"):
            alone = Bag({row: weight for row, weight in rows.items() if (side, row) not in matched})
            answer.update(_padded(node, side, alone, mark))
    return answer


def _keys(node: Join) -> tuple[Callable[[Row], Values], Callable[[Row], Values]]:
    """The key of a row of each side, in the type that both sides share, so that 1 and 1.0 meet."""
    sides = []
    for side, schema in enumerate((node.left.schema, node.right.schema)):
        places = []
        for pair in node.keys:
            shared = common(node.left.schema.type_of(pair[0]), node.right.schema.type_of(pair[1]))
            own = schema.type_of(pair[side])
            places.append((schema.index(pair[side]), own, shared or own))
        sides.append(_key_reader(places))
    return sides[0], sides[1]


def _key_reader(places: list[tuple[int, Value, Value]]) -> Callable[[Row], Values]:
    return lambda row: tuple(group_key(convert(row.values[i], own, shared), shared) for i, own, shared in places)


def _matcher(node: Join) -> Callable[[Row, Row], bool]:
    band = node.band
    if band is None:
        return lambda one, two: True
    left, right = node.left.schema.index(band.left), node.right.schema.index(band.right)

    def matches(one: Row, two: Row) -> bool:
        a, b = one.values[left], two.values[right]
        if a is None or b is None:
            return False
        distance = b - a
        return (band.low is None or distance >= band.low) and (band.high is None or distance <= band.high)

    return matches


def _padded(node: Join, side: str, rows: Bag, mark: Time) -> Bag:
    """Rows without a match, with NULLs in the place of the other side; each once no match can come any more in time."""
    settles = _no_match_after(node, side)
    own, other = node.left.schema, node.right.schema
    found: Bag = Bag()
    for row, weight in rows.items():
        due = max(row.due, settles(row))
        if is_final(due, mark):
            nulls = (None,) * len(other.columns if side == "left" else own.columns)
            values = row.values + nulls if side == "left" else nulls + row.values
            found[Row(values, due)] += weight
    return found


def _no_match_after(node: Join, side: str) -> Callable[[Row], Time]:
    """When the other side can no longer bring a match: the far end of a band on time, or never."""
    left, right = node.left.schema, node.right.schema
    bounds: list[tuple[int, int]] = []
    for band in node.bands():
        lags = left.lag(band.left), right.lag(band.right)
        reach = _reach(band, side)
        if None not in lags and reach is not None:
            own = left.index(band.left) if side == "left" else right.index(band.right)
            bounds.append((own, reach + int((lags[1] if side == "left" else lags[0]) or 0)))

    types = [type_.name for _, type_ in (left if side == "left" else right).columns]

    def settles(row: Row) -> Time:
        return min((moment(row.values[i], types[i]) + reach for i, reach in bounds), default=FOREVER)

    return settles


def _reach(band: Band, side: str) -> int | None:
    if side == "left":
        return None if band.high is None else int(band.high)
    return None if band.low is None else -int(band.low)


def wait_for(node: WaitFor, rows: Bag, signals: Bag) -> Bag:
    """The rows that got their signal in time, settled when the first signal is."""
    own, other = node.input.schema, node.signal.schema
    holds = condition(node.predicate, pair_schema(own, other))
    at, when = own.index(str(own.time)), other.index(str(other.time))
    answer: Bag = Bag()
    for row, weight in rows.items():
        start = row.values[at]
        found = [
            signal.due
            for signal, count in signals.items()
            if count > 0
            and start is not None
            and signal.values[when] is not None
            and start <= signal.values[when] < start + node.timeout
            and holds(row.values + signal.values)
        ]
        if found:
            answer[Row(row.values, max(row.due, min(found)))] += weight
    return answer

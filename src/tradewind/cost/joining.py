"""What flows out of operators that bring two inputs together: join and waitfor."""

from __future__ import annotations

import math
from dataclasses import replace

from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.operators.core import Join
from tradewind.algebra.operators.ordered import WaitFor
from tradewind.algebra.types import MICROS, TIMESTAMP
from tradewind.cost.assumptions import Assumptions
from tradewind.cost.declared import BAND_SHARE, HORIZON_SECONDS
from tradewind.cost.flow import Figures, Flow
from tradewind.cost.rows import Inputs
from tradewind.cost.selectivity import count_values, share


def joined(node: Join, inputs: Inputs, assumed: Assumptions) -> Flow:
    """Pairs: the product of the rates and of the declared selectivities between the streams of the two sides.

    Where none is declared, each row meets those of the other side that come within the band and have equal keys, which
    are one in the larger number of key values. Rows without a match are added on outer sides; the number of matches of
    a row is taken to be Poisson's.
    """
    left, right = inputs
    declared = assumed.selectivity(*({stream for stream, _ in side.streams} for side in inputs))
    factor = declared if declared is not None else _by_keys(node, left, right, assumed)
    pairs = left.rows_per_second * right.rows_per_second * factor
    rows = pairs
    if node.how in ("left", "full"):
        rows += left.rows_per_second * math.exp(-right.rows_per_second * factor)
    if node.how in ("right", "full"):
        rows += right.rows_per_second * math.exp(-left.rows_per_second * factor)
    columns = {**left.columns, **right.columns}
    for a, b in node.keys:
        columns[a], columns[b] = _shared(left.columns[a], right.columns[b])
    found = Flow(
        rows,
        columns,
        left.streams | right.streams,
        lifted_per_second=rows,
        due=max(left.due, right.due),
        read_per_second=left.read_per_second + right.read_per_second,
        declared=left.declared and right.declared,
    )
    if left.flush_seconds is None or right.flush_seconds is None:
        return found
    # What comes in batches on both sides goes on in batches.
    return replace(found, flush_seconds=min(left.flush_seconds, right.flush_seconds))


def _shared(left: Figures, right: Figures) -> tuple[Figures, Figures]:
    """Equal keys have only the values that both sides have."""
    known = [one.distinct for one in (left, right) if one.distinct is not None]
    fewest = min(known, default=None)
    return replace(left, distinct=fewest), replace(right, distinct=fewest)


def _by_keys(node: Join, left: Flow, right: Flow, assumed: Assumptions) -> float:
    """Seconds that a row waits for others, times the share of those that it meets then that have its keys."""
    seconds = HORIZON_SECONDS
    part = 1.0
    if node.band is not None:
        band = node.band
        wide = math.inf if band.low is None or band.high is None else float(band.high) - float(band.low)
        if node.left.schema.type_of(band.left) == TIMESTAMP:
            seconds = min(seconds, wide / MICROS)
        else:
            part *= BAND_SHARE
    for a, b in node.keys:
        one, two = left.columns[a], right.columns[b]
        told = [column.windows for column in (one, two) if column.windows is not None]
        if told:
            # Rows meet those of their own window, which is one of several that lie over one another.
            seconds = min(seconds, max(windows.step for windows in told))
            part /= max(1.0, *(windows.at_once for windows in told))
            continue
        counts = assumed.values(one, node.left.schema.type_of(a)), assumed.values(two, node.right.schema.type_of(b))
        # Where every row has its own value, each row of the slower side finds one of the other.
        endless = max(left.rows_per_second, right.rows_per_second) * seconds
        part /= max(1.0, *(endless if math.isinf(count) else count for count in counts))
    return seconds * part


def waited(node: WaitFor, inputs: Inputs, assumed: Assumptions) -> Flow:
    """The rows for which a signal comes in time; signals that fit a row are taken to come at random times."""
    flow, signal = inputs
    both = {**signal.columns, **flow.columns}
    types = {**dict(node.signal.schema.columns), **dict(node.input.schema.columns)}

    def values(expression: Expression) -> float:
        return count_values(expression, lambda name: assumed.values(both[name], types[name]))

    fitting = signal.rows_per_second * share(node.predicate, values) * node.timeout / MICROS
    return replace(flow.thinned(-math.expm1(-fitting)), streams=flow.streams | signal.streams)

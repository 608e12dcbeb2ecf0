"""How far off an answer may be: sketches as large as that asks for, and sketches instead of exact aggregates.

An error means what the aggregate's promise says (see `aggregates`): the relative standard error of a number of
different values, the error of a quantile's rank, and of heavy hitters a share of all rows.

>>> from tradewind.algebra.aggregates import parse_aggregate
>>> from tradewind.algebra.schema import parse_schema
>>> schema = parse_schema("client STRING, ms INT")
>>> texts = ("approx_count_distinct(client)", "approx_percentile(ms, 0.95)", "approx_top_k(client, 5)", "avg(ms)")
>>> [str(fitted(parse_aggregate(text, schema), 0.05)) for text in texts]
['approx_count_distinct(client, 0.05D)', 'approx_percentile(ms, 0.95D, 51)', 'approx_top_k(client, 5, 40)', 'avg(ms)']
>>> str(sketched(parse_aggregate("count_distinct(client)", schema), 0.05))
'approx_count_distinct(client, 0.05D)'
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tradewind.algebra.aggregates import AGGREGATES, AggregateCall, Parameters
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.base import Operator, walk
from tradewind.errors import InputError

_STEP = 1e-9
"""A promise that is worked out may be so much above the wish that it was made for."""


def _registers(_: Parameters, error: float) -> Parameters:
    return (error,)


def _ranks(given: Parameters, error: float) -> Parameters:
    return (given[0], math.ceil(200 * (0.0133 / error) ** (1 / 0.96)))


def _items(given: Parameters, error: float) -> Parameters:
    return (given[0], math.ceil(2 / error))


_SIZES: dict[str, Callable[[Parameters, float], Parameters]] = {
    "approx_count_distinct": _registers,
    "approx_percentile": _ranks,
    "approx_top_k": _items,
}
"""The parameters of the smallest sketch that keeps an error."""

_SKETCHES = {f.exact_twin: f.name for f in AGGREGATES.values() if f.exact_twin is not None and f.name in _SIZES}


def fitted(call: AggregateCall, error: float) -> AggregateCall:
    """The same by a sketch as large as an error asks for; a size that is not the usual one was chosen, and stays.

    Raises `InputError` where no sketch is so good.
    """
    if call.user is not None or call.definition.exact_twin is None:
        return call
    sized = _SIZES.get(call.function)
    *_, size = call.definition.parameters or (None,)
    usual = size is None or call.parameters[-1] == size.default
    if not usual:
        return call
    if sized is None or size is None:
        return _kept(call, error)
    *rest, wanted = sized(call.parameters, error)
    value = min(max(float(wanted or 0), size.low), size.high)
    return _kept(replace(call, parameters=(*rest, int(value) if size.whole else value)), error)


def _kept(call: AggregateCall, error: float) -> AggregateCall:
    promised = call.definition.error(call.parameters)
    if promised > error * (1 + _STEP):
        raise InputError(
            f"{call.function} can be {promised:.2g} off, and no more than {error:g} is wished for.",
            hint=f"allow for more, or ask for {call.definition.exact_twin}, which is exact.",
        )
    return call


def sketched(call: AggregateCall, error: float) -> AggregateCall | None:
    """An exact aggregate by a sketch that keeps an error; None if there is none."""
    name = None if call.user is not None else _SKETCHES.get(call.function)
    if name is None:
        return None
    usual = (*call.parameters, AGGREGATES[name].parameters[-1].default)
    try:
        return fitted(AggregateCall(name, call.arguments, usual), error)
    except InputError:
        return None


def with_error(root: Operator, error: float) -> Operator:
    """A graph whose sketches are as large as an error asks for."""
    done: dict[Operator, Operator] = {}
    for node in walk(root):
        own = node
        if isinstance(node, Aggregate):
            own = replace(node, functions=tuple((name, fitted(call, error)) for name, call in node.functions))
        done[node] = own.with_inputs(tuple(done[child] for child in node.inputs))
    return done[root]

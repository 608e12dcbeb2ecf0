"""What each operator does, in one line of words."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from tradewind.algebra.aggregates import AggregateCall
from tradewind.algebra.durations import format_duration
from tradewind.algebra.expressions.printing import print_expression, print_name
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Functions, Merge, Partial
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, Columns, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.types import TIMESTAMP


def label(node: Operator) -> str:
    """The whole line: a verb and what it is done with."""
    return " ".join(parts(node)).strip()


@singledispatch
def parts(node: Operator) -> tuple[str, str]:
    """The line in two parts: the verb (or thing), and the rest."""
    return node.kind, ""


@parts.register
def _(node: Source) -> tuple[str, str]:
    origins = f" at {_names(node.origins)}" if node.origins else ""
    late = f", late by {format_duration(node.late_by)}" if node.late_by else ""
    return "stream", f"{node.stream}{origins}{late}{', revised' if node.revisions else ''}"


@parts.register
def _(node: Filter) -> tuple[str, str]:
    return "filter", print_expression(node.predicate)


@parts.register
def _(node: Map) -> tuple[str, str]:
    if all(expression == Column(name) for name, expression in node.columns):
        return "keep", _names(name for name, _ in node.columns)
    kept = tuple((name, Column(name)) for name in node.input.schema.names)
    if node.columns[: len(kept)] == kept:
        return "map", f"*, {_columns(node.columns[len(kept) :])}"
    return "map", _columns(node.columns)


@parts.register
def _(node: Union) -> tuple[str, str]:
    return "union", f"of {len(node.members)}"


@parts.register
def _(node: Join) -> tuple[str, str]:
    keys = ", ".join(f"{_name(a)} = {_name(b)}" for a, b in node.keys)
    band = _band(node.band, node.left.schema.type_of(node.band.left) == TIMESTAMP) if node.band else ""
    verb = "join" if node.how == "inner" else f"{node.how} join"
    return verb, f"on {' and '.join(part for part in (keys, band) if part)}"


@parts.register
def _(node: Aggregate) -> tuple[str, str]:
    return "aggregate", _grouping(node)


@parts.register
def _(node: Partial) -> tuple[str, str]:
    return "partial aggregate", _grouping(node)


@parts.register
def _(node: Combine) -> tuple[str, str]:
    return "combine", _grouping(node)


@parts.register
def _(node: Merge) -> tuple[str, str]:
    by = f"by {_names(node.keys)}" if node.keys else ""
    return "merge", _told(by, _functions(node.functions))


@parts.register
def _(node: Finish) -> tuple[str, str]:
    return "finish", _functions(node.functions)


@parts.register
def _(node: Top) -> tuple[str, str]:
    order = ", ".join(f"{_name(name)}{' DESC' if down else ''}" for name, down in node.by)
    per = f" per {_names(node.per)}" if node.per else ""
    rank = f", place in {_name(node.rank)}" if node.rank else ""
    return "top", f"{node.k} by {order}{per}{rank}"


@parts.register
def _(node: ConnectionPoint) -> tuple[str, str]:
    kept = [format_duration(node.keep_time)] if node.keep_time is not None else []
    kept += [f"{node.keep_rows} rows"] if node.keep_rows is not None else []
    return "connection point", node.name + (f", keeps {' or '.join(kept)}" if kept else "")


@parts.register
def _(node: Order) -> tuple[str, str]:
    return "order", f"by {_name(node.by)} with slack {node.slack}"


@parts.register
def _(node: Resample) -> tuple[str, str]:
    when = f"every {format_duration(node.every)}" if node.every is not None else "at the times of the other stream"
    per = f" per {_names(node.keys)}" if node.keys else ""
    gap = f", gaps up to {format_duration(node.max_gap)}" if node.max_gap is not None else ""
    return "resample", f"{_names(node.values)} {when}{per}, {node.method}{gap}"


@parts.register
def _(node: WaitFor) -> tuple[str, str]:
    return "wait", f"up to {format_duration(node.timeout)} for {print_expression(node.predicate)}"


@parts.register
def _(node: Read) -> tuple[str, str]:
    return "read", f"{node.table.name}: {_flat(node.statement)}{', else NULLs' if node.keep else ''}"


@parts.register
def _(node: Update) -> tuple[str, str]:
    return "update", f"{node.table.name}: {_flat(node.statement)}, report {_columns(node.report)}"


@parts.register
def _(node: Distinct) -> tuple[str, str]:
    return "distinct", ""


@parts.register
def _(node: Sample) -> tuple[str, str]:
    by = f" by {_names(node.key)}" if node.key else ""
    return "sample", f"{node.fraction * 100:.6g} %{by}{f', seed {node.seed}' if node.seed else ''}"


@parts.register
def _(node: Split) -> tuple[str, str]:
    rest = node.route == len(node.predicates)
    taken = "the rest" if rest else print_expression(node.predicates[node.route])
    return "split", f"way {node.route + 1} of {len(node.predicates) + 1}: {taken}"


@parts.register
def _(node: Superbox) -> tuple[str, str]:
    return "box", box_name(node)


def box_name(node: Superbox) -> str:
    """A superbox's name with its arguments."""
    arguments = ", ".join(f"{name}={value}" for name, value in node.arguments)
    return f"{node.name}({arguments})" if arguments else node.name


def _name(name: str) -> str:
    """Quoted only where it could be misread; unlike in SQL, keywords are names like others here."""
    return name if name.isidentifier() else print_name(name)


def _names(names: Iterable[str]) -> str:
    return ", ".join(_name(name) for name in names)


def _columns(columns: Columns) -> str:
    return ", ".join(
        _name(name) if expression == Column(name) else f"{_name(name)} = {print_expression(expression)}"
        for name, expression in columns
    )


def _functions(functions: Functions) -> str:
    return ", ".join(f"{_name(name)} = {_call(call)}" for name, call in functions)


def _call(call: AggregateCall) -> str:
    # The calls of a combine, a merge or a finish have no arguments: what was lifted is behind them.
    return str(call) if call.arguments or call.function == "count" else call.function


def _grouping(node: Aggregate | Partial | Combine) -> str:
    by = f"by {_names(node.keys)}" if node.keys else ""
    per = f"per {node.window}" if node.window is not None else ""
    return _told(" ".join(part for part in (by, per) if part), _functions(node.functions))


def _told(what: str, answers: str) -> str:
    return f"{what}: {answers}" if what and answers else what or answers


def _band(band: Band, timed: bool) -> str:
    distance = f"{_name(band.right)} - {_name(band.left)}"
    low, high = (None if bound is None else _length(bound, timed) for bound in (band.low, band.high))
    if band.low is not None and band.high is not None and band.low == -band.high:
        return f"|{distance}| ≤ {high}"
    return f"{f'{low} ≤ ' if low else ''}{distance}{f' ≤ {high}' if high else ''}"


def _length(bound: float, timed: bool) -> str:
    if not timed:
        return str(bound)
    return f"{'-' if bound < 0 else ''}{format_duration(abs(int(bound)))}"


def _flat(text: str) -> str:
    return " ".join(text.split())

"""window(ts, size[, step[, start]]) and session_window(ts, gap) as windows of the algebra."""

from __future__ import annotations

from tradewind.algebra.durations import parse_duration
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Column, Expression, Literal
from tradewind.algebra.types import INTERVAL
from tradewind.algebra.windows import SessionWindow, TimeWindow, Window
from tradewind.errors import QueryError
from tradewind.frontends.sql.scope import Scope

_TAKES = {
    "window": "window(time, 'size'[, 'step'[, 'start']])",
    "session_window": "session_window(time, 'gap')",
}


def read_window(call: Expression, scope: Scope) -> Window:
    """The window that a call of window() or session_window() means."""
    if not isinstance(call, Call):
        raise QueryError(f"{print_expression(call)!r} is not a window.")
    takes = _TAKES[call.function]
    if not call.arguments or not 2 <= len(call.arguments) <= (4 if call.function == "window" else 2):
        raise QueryError(f"{print_expression(call)!r} has {len(call.arguments)} arguments.", hint=f"write {takes}.")
    time = scope.bind(call.arguments[0])
    if not isinstance(time, Column):
        raise QueryError(
            f"{print_expression(call)!r} is laid on an expression.",
            hint="windows are laid on event time; compute another time column in a sub-select first.",
        )
    lengths = [_length(argument, takes) for argument in call.arguments[1:]]
    if call.function == "session_window":
        return SessionWindow(time.name, lengths[0])
    step = lengths[1] if len(lengths) > 1 else lengths[0]
    return TimeWindow(time.name, lengths[0], step, lengths[2] if len(lengths) > 2 else 0)


def _length(argument: Expression, takes: str) -> int:
    match argument:
        case Literal(value=str(text)):
            return parse_duration(text)
        case Literal(value=int(micros), type=type_) if type_ == INTERVAL:
            return micros
    raise QueryError(
        f"{print_expression(argument)!r} is not a length of time.",
        hint=f"write {takes} with lengths such as '10 minutes'.",
    )

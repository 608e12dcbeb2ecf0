"""Superboxes: functions of streams that are kept as one named thing in the graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.derived import Superbox
from tradewind.errors import InputError
from tradewind.frontends.arguments import place
from tradewind.frontends.rows import Rows

P = ParamSpec("P")
R = TypeVar("R", bound=Rows)


def superbox(function: Callable[P, R]) -> Callable[P, R]:
    """Make a box of a function of streams: its name becomes the box's, and what is not a stream a parameter.

    As a decorator: `@tw.superbox` before `def busiest(requests, k=10): return requests.…`.
    """
    with place("superbox"):
        _require_function(function)
    name = getattr(function, "__name__", type(function).__name__)

    @wraps(function)
    def made(*arguments: P.args, **parameters: P.kwargs) -> R:
        return boxed(name, function, arguments, parameters)

    return made


def boxed(name: str, function: Callable[..., R], arguments: tuple[Any, ...], parameters: Mapping[str, Any]) -> R:
    """What the function gives, in a box that reads the streams among its arguments and remembers the rest as text."""
    with place(f"box {name}"):
        _require_function(function)
        bound = _bound(function, arguments, parameters)
        starts = tuple(dict.fromkeys(node for value in bound.values() for node in _operators(value)))
        rest = tuple((key, str(value)) for key, value in bound.items() if not any(_operators(value)))
        made = function(*arguments, **parameters)
        if not isinstance(made, Rows):
            raise InputError(f"a box gives a stream, not {type(made).__name__}.", hint="return the stream.")
        return replace(made, operator=Superbox(made.operator, starts, name, rest))


def _require_function(function: object) -> None:
    if not callable(function):
        raise InputError(f"expected a function of streams, not {type(function).__name__}.")


def _bound(function: Callable[..., Any], arguments: tuple[Any, ...], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all parameters by name, defaults and further keywords included."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise InputError(f"{function!r} does not say what its parameters are.", hint="wrap it in a function.") from None
    try:
        found = signature.bind(*arguments, **parameters)
    except TypeError as error:
        raise InputError(f"{error}.", hint=f"its parameters are {signature}.") from None
    found.apply_defaults()
    values: dict[str, Any] = {}
    for name, value in found.arguments.items():
        more = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        values |= value if more else {name: value}
    return values


def _operators(value: Any) -> Iterator[Operator]:
    """The last operators of the streams in an argument."""
    if isinstance(value, Rows):
        yield value.operator
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _operators(one)

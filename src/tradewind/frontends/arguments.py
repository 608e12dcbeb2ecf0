"""What is given to the methods of a stream: texts and lists of them, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlglot import exp

from tradewind.algebra.durations import parse_duration
from tradewind.algebra.expressions.parse import convert, parse_sql
from tradewind.algebra.expressions.tree import Column, Expression, Field
from tradewind.algebra.expressions.typing import parse_expression, resolve
from tradewind.algebra.graph import KINDS
from tradewind.algebra.schema import Schema
from tradewind.errors import ExpressionError, InputError, TradewindError

Names = str | Iterable[str]
_ORDER = re.compile(r"\s*(`(?:[^`]|``)+`|\w+)\s*(asc|desc)?\s*(,|$)", re.IGNORECASE)


@contextmanager
def place(method: str) -> Iterator[None]:
    """Whatever goes wrong inside is reported as a problem of the method."""
    try:
        yield
    except InputError as error:
        raise located(error, method) from None


def located(error: InputError, method: str) -> TradewindError:
    """The error with the method as its place; that of the operator under the method says no more and is left out."""
    inner = error.where
    if inner == method or (inner or "").startswith(f"{method}: "):
        return error
    if inner in KINDS:
        return type(error)(error.what, where=method, hint=error.hint, candidates=error.candidates)
    return error.at(method)


def text(value: object, what: str = "a text") -> str:
    """A text, or an error that says what was given instead."""
    if not isinstance(value, str):
        raise InputError(f"expected {what}, not {_shown(value)}.")
    return value


def optional_text(value: object | None, what: str = "a text") -> str | None:
    """A text, if there is one."""
    return None if value is None else text(value, what)


def length(value: object) -> int:
    """A length of time in microseconds."""
    return parse_duration(text(value, "a length of time such as '5 minutes'"))


def optional_length(value: object | None) -> int | None:
    """A length of time, if there is one."""
    return None if value is None else length(value)


def whole(value: object, what: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"{what} is a whole number, not {_shown(value)}.")
    return value


def number(value: object, what: str) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} is a number, not {_shown(value)}.")
    return float(value)


def flag(value: object, what: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise InputError(f"{what} is True or False, not {_shown(value)}.")
    return value


def names(value: Names | None) -> tuple[str, ...]:
    """One name or several."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    return tuple(text(name, "a column's name") for name in iterated(value, "a column's name or a list of names"))


def iterated(value: object, what: str) -> Iterable[Any]:
    """Several things."""
    if not isinstance(value, Iterable):
        raise InputError(f"expected {what}, not {_shown(value)}.")
    return value


def texts_by_name(value: object, what: str) -> dict[str, str]:
    """A mapping of texts to texts."""
    if not isinstance(value, Mapping):
        raise InputError(f"expected {what}, not {_shown(value)}.")
    return {text(key, "a name"): text(given, "a name") for key, given in value.items()}


def columns(value: Names | None, schema: Schema) -> tuple[str, ...]:
    """One column or several, spelled as the schema spells them."""
    return tuple(schema.find(name) for name in names(value))


def items(texts: Iterable[str], named: Mapping[str, str], schema: Schema) -> list[tuple[str, Expression]]:
    """Columns as `SELECT` lists them (`domain`, `bytes * 8 AS bits`, `*`), then those given by name."""
    found: list[tuple[str, Expression]] = []
    for one in texts:
        if text(one, "a column or an expression").strip() == "*":
            found.extend((name, Column(name)) for name in schema.names)
        else:
            found.append(_item(one, schema))
    found.extend((name, parse_expression(text(given, "an expression"), schema, name)) for name, given in named.items())
    return found


def _item(given: str, schema: Schema) -> tuple[str, Expression]:
    if given in schema.names:
        return given, Column(given)
    node = parse_sql(given)
    alias = node.alias if isinstance(node, exp.Alias) else None
    expression = resolve(convert(node.this if isinstance(node, exp.Alias) else node), schema)[0]
    if alias:
        return alias, expression
    if isinstance(expression, Column | Field):
        return expression.name, expression
    raise ExpressionError(
        f"{given[:80]!r} needs a name.", hint=f"write '{given[:40]} AS name', or name='{given[:40]}'."
    )


def orders(by: Names) -> tuple[tuple[str, bool], ...]:
    """Columns, and whether each goes down: a bare name does (the most first); `a DESC, b` is read as SQL reads it.

    >>> orders("hits"), orders("hits DESC, domain")
    ((('hits', True),), (('hits', True), ('domain', False)))
    """
    found: list[tuple[str, bool]] = []
    for one in names(by):
        read = _order(one)
        found.extend([(read[0][0], True)] if len(read) == 1 and not read[0][1] else [(n, w == "desc") for n, w in read])
    return tuple(found)


def _order(given: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(given) or not found:
        read = _ORDER.match(given, position)
        if read is None:
            raise InputError(f"{given[:80]!r} is not an order of columns.", hint="'hits', or 'hits DESC, domain'.")
        name, way, _ = read.groups()
        quoted = name.startswith("`")
        found.append((name[1:-1].replace("``", "`") if quoted else name, (way or "").lower()))
        position = read.end()
    return found


def _shown(value: object) -> str:
    written = repr(value)
    return f"{written if len(written) <= 40 else written[:37] + '...'} ({type(value).__name__})"

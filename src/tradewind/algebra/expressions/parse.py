"""From Spark SQL text to expression trees. What is not known here is refused, so nothing unknown can be passed on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from sqlglot import exp
from sqlglot.errors import SqlglotError

from tradewind.algebra.durations import parse_duration
from tradewind.algebra.expressions.constants import converted, negated, number
from tradewind.algebra.expressions.dialect import Dialect, deep_stack
from tradewind.algebra.expressions.functions import ALIASES, FUNCTIONS, REASONS
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal, depth
from tradewind.algebra.types import (
    BINARY,
    BOOLEAN,
    INTERVAL,
    NULL,
    STRING,
    DataType,
    parse_type,
)  # fmt: skip
from tradewind.errors import ExpressionError, ForbiddenError, InputError, closest

MAX_LENGTH = 100_000
MAX_DEPTH = 100
"""Longer or deeper texts are refused before they can exhaust the parser."""

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.IntDiv: "div", exp.Mod: "%", exp.EQ: "=", exp.NEQ: "<>",
    exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>", exp.And: "and", exp.Or: "or",
    exp.Like: "like", exp.DPipe: "concat",
}  # fmt: skip

_REFUSED: tuple[tuple[type[exp.Expr], str, str], ...] = (
    (exp.SubqueryPredicate, "a sub-query", "join the other stream, or read a declared table with a read box."),
    (exp.Query, "a sub-query", "join the other stream, or read a declared table with a read box."),
    (exp.Lambda, "a lambda", "write the expression over columns."),
    (
        exp.Window,
        "a window function (OVER)",
        "QUALIFY row_number() OVER (…) <= k gives the top k; aggregate for the rest.",
    ),
    (exp.Parameter, "a parameter", "write the value."),
    (exp.Placeholder, "a placeholder", "write the value."),
    (exp.SessionParameter, "a session variable", "write the value."),
    (exp.Star, "*", "name the columns; * stands only in SELECT * and count(*)."),
    (exp.Command, "a command", "only one SELECT, or one expression, may be given."),
    (exp.Escape, "ESCAPE", "a backslash escapes in LIKE: 'a\\\\%'."),
    (exp.RegexpLike, "a regular expression", "use LIKE, startswith, endswith, contains or split_part."),
)


def parse_sql(text: str, where: str | None = None) -> exp.Expr:
    """One statement as sqlglot's tree; more than one is refused."""
    return _parsed(text, where, Dialect().parse)


def _parse_expression(text: str, where: str | None) -> exp.Expr:
    """One expression as sqlglot's tree. What is none is read as a statement, to be refused as what it is."""
    try:
        return _parsed(text, where, lambda given: Dialect().parse_into(exp.Condition, given))
    except ForbiddenError:
        raise
    except ExpressionError as error:
        statement = parse_sql(text, where)
        if not isinstance(statement, exp.Query | exp.Command | exp.DDL | exp.DML | exp.Set | exp.Use):
            raise error from None
        return statement


def _parsed(text: str, where: str | None, parse: Callable[[str], Sequence[exp.Expr | None]]) -> exp.Expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"the text is {len(text)} characters long.", where=where, hint=f"at most {MAX_LENGTH}.")
    if text.count("(") > 2_000 or _nesting(text) > MAX_DEPTH:
        raise ExpressionError("the text is nested too deeply.", where=where, hint="split it over several maps.")
    try:
        with deep_stack():
            statements = parse(text)
    except (SqlglotError, RecursionError, ValueError, TypeError, AttributeError, IndexError, KeyError) as error:
        # sqlglot raises a ParseError for most bad texts; a few make it stumble with a built-in error instead.
        raise ExpressionError(f"cannot read {_shown(text)}: {_reason(error)}", where=where) from None
    found = [statement for statement in statements if statement is not None]
    if len(found) != 1:
        raise ForbiddenError(
            f"{_shown(text)} holds {len(found)} statements.", where=where, hint="give exactly one, without ';'."
        )
    return found[0]


def parse_raw(text: str, also: frozenset[str] = frozenset(), where: str | None = None) -> Expression:
    """An expression that is allowed but not yet typed; `also` names further functions (aggregates) that may be
    called.
    """
    try:
        with deep_stack():
            found = convert(_parse_expression(text, where), also)
        if depth(found) > MAX_DEPTH:
            raise ExpressionError("the text is nested too deeply.", hint="split it over several maps.")
        return found
    except RecursionError:
        raise ExpressionError(
            "the text is nested too deeply.", where=where, hint="split it over several maps."
        ) from None
    except InputError as error:
        raise error.placed(where) from None


def convert(node: exp.Expr, also: frozenset[str] = frozenset()) -> Expression:
    """An expression from sqlglot's tree, or an error that names what is not allowed."""
    kind = type(node)
    if node.args.get("negate"):  # `x NOT LIKE p` is one node that says so on the side
        plain = node.copy()
        plain.set("negate", None)
        return _not(exp.Not(this=plain), also)
    if kind in _BINARY:
        return _binary(_BINARY[kind], convert(node.this, also), convert(node.expression, also))
    handler = _HANDLERS.get(kind)
    if handler:
        return handler(node, also)
    for refused, name, hint in _REFUSED:
        if isinstance(node, refused):
            raise ForbiddenError(f"{name} is not allowed in an expression: {_shown(node.sql(Dialect))}.", hint=hint)
    raise ForbiddenError(
        f"{_shown(node.sql(Dialect))} is not allowed in an expression.",
        hint="expressions are made of columns, constants, operators, CASE, CAST and the functions listed in the docs.",
    )


def _binary(name: str, left: Expression, right: Expression) -> Expression:
    if name in ("and", "or", "concat"):  # flattened, so that `a AND (b AND c)` and `(a AND b) AND c` are one expression
        return Call(name, (*_parts(left, name), *_parts(right, name)))
    return Call(name, (left, right))


def _parts(expression: Expression, name: str) -> tuple[Expression, ...]:
    if isinstance(expression, Call) and expression.function == name:
        return expression.arguments
    return (expression,)


def _column(node: exp.Expr, also: frozenset[str]) -> Expression:
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return convert(node.this, also)
    parts = [part.name for part in node.parts]
    found: Expression = Column(parts[0])
    for name in parts[1:]:
        found = Field(found, name)
    return found


def _dot(node: exp.Expr, also: frozenset[str]) -> Expression:
    if not isinstance(node.expression, exp.Identifier):
        raise ForbiddenError(
            f"{_shown(node.sql(Dialect))} is not allowed.", hint="only fields of a struct are read by '.'."
        )
    return Field(convert(node.this, also), node.expression.name)


def _literal(node: exp.Expr, _: frozenset[str]) -> Expression:
    return Literal(node.this, STRING) if node.is_string else number(node.this)


def _adjacent(node: exp.Expr, also: frozenset[str]) -> Expression:
    """Texts that stand side by side are one text, as in Spark."""
    parts = [convert(part, also) for part in node.expressions]
    if not all(isinstance(part, Literal) and isinstance(part.value, str) for part in parts):
        raise ForbiddenError(f"{_shown(node.sql(Dialect))} is not allowed.", hint="join texts by || or concat().")
    return Literal("".join(str(part.value) for part in parts if isinstance(part, Literal)), STRING)


def _cast(node: exp.Expr, also: frozenset[str]) -> Expression:
    if node.args.get("format") or node.args.get("default"):
        raise ForbiddenError("CAST takes no FORMAT and no DEFAULT.")
    target = _type(node.args["to"])
    inner = node.this
    if isinstance(inner, exp.Null):
        return Literal(None, target)
    value = convert(inner, also)
    constant = converted(value, target) if isinstance(inner, exp.Literal) and isinstance(value, Literal) else None
    return constant or Cast(value, target)


@cache
def _spark_types() -> dict[str, DataType]:
    names = {"TIMESTAMPTZ": "TIMESTAMP", "TIMESTAMPLTZ": "TIMESTAMP", "TEXT": "STRING", "VARCHAR": "STRING"}
    return {old: parse_type(new) for old, new in names.items()}


def _type(node: exp.Expr) -> DataType:
    text = node.sql(Dialect)
    found = _spark_types().get(text.upper())
    try:
        return found or parse_type(text)
    except InputError as error:
        raise ExpressionError(error.what, hint=error.hint) from None


def _interval(node: exp.Expr, _: frozenset[str]) -> Expression:
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or (unit is not None and not isinstance(unit, exp.Var)):
        raise ExpressionError(f"cannot read {_shown(node.sql(Dialect))}.", hint="write INTERVAL 5 MINUTES.")
    return Literal(parse_duration(f"{amount.this} {unit.name if unit else ''}"), INTERVAL)


def _negative(node: exp.Expr, also: frozenset[str]) -> Expression:
    """Minus, taken into the number it stands before: -128Y is a TINYINT though 128Y is none."""
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return number(node.this.this, minus=True)
    inside = convert(node.this, also)
    return negated(inside) if isinstance(inside, Literal) else Call("negative", (inside,))


def _in(node: exp.Expr, also: frozenset[str]) -> Expression:
    if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
        raise ForbiddenError("IN with a sub-query is not allowed.", hint="list the values, or join the other stream.")
    return Call("in", (convert(node.this, also), *(convert(value, also) for value in node.expressions)))


def _between(node: exp.Expr, also: frozenset[str]) -> Expression:
    value = convert(node.this, also)
    low, high = convert(node.args["low"], also), convert(node.args["high"], also)
    if node.args.get("symmetric"):
        raise ForbiddenError("BETWEEN SYMMETRIC is not supported.", hint="BETWEEN least(a, b) AND greatest(a, b).")
    return Call("and", (Call(">=", (value, low)), Call("<=", (value, high))))


def _is(node: exp.Expr, also: frozenset[str]) -> Expression:
    value = convert(node.this, also)
    match node.expression:
        case exp.Null():
            return Call("isnull", (value,))
        case exp.Boolean(this=wanted):
            return Call("<=>", (value, Literal(bool(wanted), BOOLEAN)))
    raise ForbiddenError(f"{_shown(node.sql(Dialect))} is not allowed.", hint="IS takes NULL, TRUE or FALSE.")


def _not(node: exp.Expr, also: frozenset[str]) -> Expression:
    inner = convert(node.this, also)
    if isinstance(inner, Call) and inner.function in ("isnull", "isnotnull"):
        return Call("isnotnull" if inner.function == "isnull" else "isnull", inner.arguments)
    return Call("not", (inner,))


def _case(node: exp.Expr, also: frozenset[str]) -> Expression:
    subject = node.this and convert(node.this, also)
    branches = []
    for branch in node.args["ifs"]:
        condition = convert(branch.this, also)
        branches.append((Call("=", (subject, condition)) if subject else condition, convert(branch.args["true"], also)))
    default = node.args.get("default")
    return Case(tuple(branches), convert(default, also) if default else Literal(None, NULL))


def _ilike(node: exp.Expr, also: frozenset[str]) -> Expression:
    sides = (convert(node.this, also), convert(node.expression, also))
    return Call("like", tuple(Call("lower", (side,)) for side in sides))


def _bracket(node: exp.Expr, also: frozenset[str]) -> Expression:
    raise ForbiddenError(
        f"{_shown(node.sql(Dialect))}: values are not read by [ ].", hint="use element_at(array, position), from 1."
    )


def _filtered(node: exp.Expr, also: frozenset[str]) -> Expression:
    """`sum(x) FILTER (WHERE p)`: what is not NULL is aggregated, so the argument is NULL where p is not true."""
    call = convert(node.this, also)
    condition = convert(node.expression.this, also)
    if not isinstance(call, Call) or not (call.function in also or call.function == "count_distinct"):
        raise ForbiddenError("FILTER goes only with an aggregate.")
    value, *rest = call.arguments or (Literal(True, BOOLEAN),)
    return Call(call.function, (Case(((condition, value),), Literal(None, NULL)), *rest))


def _function(node: exp.Expr, also: frozenset[str]) -> Expression:
    written = node.this if isinstance(node.this, str) else node.name
    name = written.lower()
    name = ALIASES.get(name, name)
    arguments: list[exp.Expr] = list(node.expressions)
    if name in also and len(arguments) == 1:
        if isinstance(arguments[0], exp.Star) and name == "count":
            return Call("count", ())
        if isinstance(arguments[0], exp.Distinct):
            return _distinct(name, arguments[0], also)
    if name not in FUNCTIONS and name not in also and name != "named_struct":
        raise forbidden_function(written, also)
    return Call(name, tuple(convert(argument, also) for argument in arguments))


def _distinct(name: str, node: exp.Expr, also: frozenset[str]) -> Expression:
    if name != "count" or node.args.get("on"):
        raise ForbiddenError(
            f"{name}(DISTINCT …) is not supported.", hint="count(DISTINCT x) is; else DISTINCT in FROM."
        )
    values = tuple(convert(value, also) for value in node.expressions)
    if len(values) != 1:
        raise ForbiddenError(
            "count(DISTINCT a, b) is not supported.", hint="count(DISTINCT named_struct('a', a, 'b', b))."
        )
    return Call("count_distinct", values)


_WORDS = frozenset({"and", "or", "not", "in", "like", "div"})
"""Operators that are words: nobody calls them."""


def forbidden_function(name: str, also: frozenset[str] = frozenset()) -> ForbiddenError:
    """Why a function may not be called, and which one was perhaps meant."""
    reason = REASONS.get(name.lower())
    known = [*(n for n in FUNCTIONS if n[0].isalpha() and n not in _WORDS), *sorted(also), *ALIASES]
    guess = None if reason else closest(name, known)
    hint = (
        f"did you mean {guess}()?" if guess else "the functions that may be called are listed in docs/expressions.md."
    )
    why = f": {reason}" if reason else ""
    return ForbiddenError(f"the function {name[:60]!r} is not on the allow-list{why}.", hint=hint)


_HANDLERS: dict[type[exp.Expr], Callable[[exp.Expr, frozenset[str]], Expression]] = {
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Identifier: lambda node, _: Column(node.name),
    exp.Literal: _literal,
    exp.Concat: _adjacent,
    exp.RawString: lambda node, _: Literal(node.this, STRING),
    exp.NullSafeNEQ: lambda node, also: Call(
        "not", (Call("<=>", (convert(node.this, also), convert(node.expression, also))),)
    ),
    exp.HexString: lambda node, _: Literal(bytes.fromhex(node.this.zfill((len(node.this) + 1) // 2 * 2)), BINARY),
    exp.Boolean: lambda node, _: Literal(bool(node.this), BOOLEAN),
    exp.Null: lambda node, _: Literal(None, NULL),
    exp.Paren: lambda node, also: convert(node.this, also),
    exp.Neg: _negative,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Case: _case,
    exp.ILike: _ilike,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Interval: _interval,
    exp.Bracket: _bracket,
    exp.Filter: _filtered,
    exp.Anonymous: _function,
}


def _nesting(text: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= 1
    return deepest


def _reason(error: Exception) -> str:
    details = getattr(error, "errors", None)
    if details:
        first = details[0]
        near = f" near {first['highlight']!r}" if first.get("highlight") else ""
        described = re.sub(r"( but got)? <Token .*>$| for <class .*>$", "", first["description"], flags=re.DOTALL)
        return f"{described.rstrip('.')}{near} (line {first['line']}, column {first['col']})."
    return "it is nested too deeply." if isinstance(error, RecursionError) else "it is not Spark SQL."


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 80 else flat[:77] + "...")

"""Gives an expression its type: columns are found, conversions made explicit, everything that does not fit refused."""

from __future__ import annotations

from tradewind.algebra.casting import convertible
from tradewind.algebra.expressions.constants import converted, decimal_constant, negated, shortest_decimal
from tradewind.algebra.expressions.dialect import deep_stack
from tradewind.algebra.expressions.functions import FUNCTIONS, TRUNC_UNITS, rounded_type, struct_type
from tradewind.algebra.expressions.parse import parse_raw
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Case, Cast, Column, Expression, Field, Literal
from tradewind.algebra.schema import Schema
from tradewind.algebra.times import parse_date, parse_timestamp
from tradewind.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    common,
    fits,
    is_integer,
)  # fmt: skip
from tradewind.errors import ExpressionError, InputError, InternalError

MAX_PADDING = 100_000
Typed = tuple[Expression, DataType]
_BESIDE_DECIMALS = ("+", "-", "*", "/", "%", "div", "pmod", "=", "<>", "<", "<=", ">", ">=", "<=>")
"""Operators for which Spark gives a constant whole number just its own digits."""
_COMPARING = ("=", "<>", "<", "<=", ">", ">=", "<=>", "in", "coalesce", "greatest", "least", "nullif")


def parse_expression(text: str, schema: Schema, where: str | None = None) -> Expression:
    """Read, check and type an expression over the columns of `schema`."""
    try:
        with deep_stack():
            return resolve(parse_raw(text, where=where), schema)[0]
    except RecursionError:
        raise ExpressionError("the text is nested too deeply.", where=where) from None
    except InputError as error:
        raise error.placed(where) from None


def parse_condition(text: str, schema: Schema, where: str | None = None) -> Expression:
    """An expression that is true or false."""
    return require_boolean(parse_expression(text, schema, where), schema, where)


def require_boolean(expression: Expression, schema: Schema, where: str | None = None) -> Expression:
    """The expression itself if it is a condition; NULL counts as one that is never true."""
    found, type_ = resolve(expression, schema)
    if type_ == NULL:
        return Literal(None, BOOLEAN)
    if type_ != BOOLEAN:
        raise ExpressionError(
            f"{print_expression(found)!r} has type {type_}, not BOOLEAN.",
            where=where,
            hint="compare it with something.",
        )
    return found


def type_of(expression: Expression, schema: Schema) -> DataType:
    """The type of an expression over the columns of `schema`."""
    return resolve(expression, schema)[1]


def resolve(expression: Expression, schema: Schema) -> Typed:
    """The expression with explicit conversions and the columns' own spelling, and its type. Resolving again changes
    nothing.
    """
    match expression:
        case Column(name=name):
            found = schema.find(name)
            return Column(found), schema.type_of(found)
        case Literal(value=value, type=type_):
            if type_ in INTEGER_BITS and isinstance(value, int) and not fits(value, type_):
                raise ExpressionError(f"the number {value} is out of range for {type_}.", hint="write it as 1e20.")
            return expression, type_
        case Field(of=of, name=name):
            return _field(resolve(of, schema), name)
        case Cast(of=of, type=type_):
            return _cast(resolve(of, schema), type_)
        case Case(branches=branches, otherwise=otherwise):
            conditions = tuple(require_boolean(condition, schema) for condition, _ in branches)
            values = [resolve(value, schema) for _, value in branches] + [resolve(otherwise, schema)]
            shared = _common_of(expression, values)
            results = [coerce(value, type_, shared) for value, type_ in values]
            return Case(tuple(zip(conditions, results[:-1], strict=True)), results[-1]), shared
        case Call(function="named_struct"):
            return _named_struct(expression, schema)
        case Call(function=name, arguments=arguments):
            return _call(name, [resolve(argument, schema) for argument in arguments], expression)


def _call(name: str, arguments: list[Typed], whole: Expression) -> Typed:
    function = FUNCTIONS.get(name)
    if function is None:
        raise InternalError(f"{name!r} was let through by the parser but is not a function.")
    if name in _COMPARING:
        arguments = _with_times(arguments)
    if name in _BESIDE_DECIMALS:
        arguments = _with_digits(arguments)
    if name == "nullif" and len(arguments) == 2 and arguments[0][1] != arguments[1][1]:
        return _nullif(arguments)
    if name == "date_trunc":
        _check_unit(arguments)
    if name == "round" and len(arguments) > 1 and not isinstance(arguments[1][0], Literal):
        raise ExpressionError("round needs a constant number of digits.")
    if name in ("lpad", "rpad"):
        _check_length(name, arguments)
    fitted = function.rule(tuple(type_ for _, type_ in arguments))
    if fitted is None:
        given = ", ".join(str(type_) for _, type_ in arguments[:8]) or "nothing"
        more = ", …" if len(arguments) > 8 else ""
        raise ExpressionError(
            f"{name!r} does not fit ({given}{more}) in {shown(whole)}.",
            hint=f"it takes {function.takes}; convert with CAST(… AS …).",
        )
    wanted, result = fitted
    parts = tuple(coerce(e, have, want) for (e, have), want in zip(arguments, wanted, strict=True))
    if name == "round":
        result = rounded_type(wanted[0], _places(parts[1:]))
    if name == "negative" and isinstance(parts[0], Literal):
        return negated(parts[0]), result
    return Call(name, parts), result


def _places(digits: tuple[Expression, ...]) -> int:
    value = digits[0].value if digits and isinstance(digits[0], Literal) else 0
    return value if isinstance(value, int) else 0


def _with_digits(arguments: list[Typed]) -> list[Typed]:
    """A whole number beside a DECIMAL counts with the digits that it has, not with those that its type could have."""
    if sum(type_.name == "DECIMAL" for _, type_ in arguments) != 1 or len(arguments) != 2:
        return arguments
    shortest = [shortest_decimal(e) if isinstance(e, Literal) and is_integer(t) else e for e, t in arguments]
    return [
        (new, new.type) if new is not old and isinstance(new, Literal) else (old, type_)
        for new, (old, type_) in zip(shortest, arguments, strict=True)
    ]


def _nullif(arguments: list[Typed]) -> Typed:
    """Values of two types are compared in their common type, but the answer has the type of the first."""
    (value, type_), _ = arguments
    same, _ = _call("=", arguments, Call("nullif", tuple(e for e, _ in arguments)))
    return Case(((same, Literal(None, type_)),), value), type_


def shown(expression: Expression) -> str:
    """An expression in a message: its beginning, where it is long."""
    text = print_expression(expression)
    return repr(text if len(text) <= 120 else text[:117] + "...")


def _check_length(name: str, arguments: list[Typed]) -> None:
    """Padding by a length that rows decide could ask for gigabytes."""
    length = arguments[1][0] if len(arguments) > 1 else None
    if not isinstance(length, Literal) or not isinstance(length.value, int) or length.value > MAX_PADDING:
        raise ExpressionError(f"{name} needs a constant length of at most {MAX_PADDING} characters.")


def _field(typed: Typed, name: str) -> Typed:
    of, type_ = typed
    matching = [(field, inner) for field, inner in type_.fields if field.lower() == name.lower()]
    found = matching[0] if len(matching) == 1 else None
    if type_.name != "STRUCT" or found is None:
        fields = ", ".join(field for field, _ in type_.fields) if type_.name == "STRUCT" else ""
        hint = f"its fields are {fields}." if fields else f"{print_expression(of)} has type {type_} and no fields."
        raise ExpressionError(f"{print_expression(of)!r} has no field {name!r}.", hint=hint)
    return Field(of, found[0]), found[1]


def _cast(typed: Typed, target: DataType) -> Typed:
    of, source = typed
    if isinstance(of, Literal) and of.value is None:
        return Literal(None, target), target
    if isinstance(of, Literal) and of.type == STRING and isinstance(of.value, str):
        constant = _constant(of.value, target)
        if constant is not None:
            return constant, target
    if not convertible(source, target):
        raise ExpressionError(f"{source} cannot be converted to {target} in {print_expression(Cast(of, target))!r}.")
    return coerce(of, source, target), target


def _constant(text: str, target: DataType) -> Literal | None:
    """`TIMESTAMP '…'`, `DATE '…'` and the doubles that have no digits are constants."""
    if target in (TIMESTAMP, DATE):
        parse = parse_timestamp if target == TIMESTAMP else parse_date
        return Literal(parse(text), target)
    if target.name == "DECIMAL":
        return decimal_constant(text, target)
    special = {"infinity": float("inf"), "-infinity": float("-inf"), "nan": float("nan")}
    return Literal(special[text.lower()], target) if target in (DOUBLE, FLOAT) and text.lower() in special else None


def _with_times(arguments: list[Typed]) -> list[Typed]:
    """Texts compared with times are times: `ts > '2026-01-01'`."""
    times = {type_ for _, type_ in arguments} & {TIMESTAMP, DATE}
    if not times or not any(type_ == STRING for _, type_ in arguments):
        return arguments
    target = TIMESTAMP if TIMESTAMP in times else DATE
    return [
        (Literal(_time_value(e.value, target), target), target)
        if isinstance(e, Literal) and t == STRING and isinstance(e.value, str)
        else (e, t)
        for e, t in arguments
    ]


def _time_value(text: str, target: DataType) -> int:
    return parse_timestamp(text) if target == TIMESTAMP else parse_date(text)


def _check_unit(arguments: list[Typed]) -> None:
    unit = arguments[0][0] if arguments else None
    if not isinstance(unit, Literal) or str(unit.value).lower() not in TRUNC_UNITS:
        raise ExpressionError("date_trunc needs a known unit in quotes.", hint=f"one of {', '.join(TRUNC_UNITS)}.")


def _named_struct(call: Call, schema: Schema) -> Typed:
    names, values = call.arguments[::2], call.arguments[1::2]
    if len(names) != len(values) or not names:
        raise ExpressionError("named_struct takes pairs of a name and a value.")
    if not all(isinstance(name, Literal) and isinstance(name.value, str) for name in names):
        raise ExpressionError("the names in named_struct must be constant texts.")
    resolved = [resolve(value, schema) for value in values]
    type_ = struct_type([str(name.value) for name in names if isinstance(name, Literal)], [t for _, t in resolved])
    if len({field.lower() for field, _ in type_.fields}) != len(names):
        raise ExpressionError("a name stands twice in named_struct.")
    pairs = tuple(part for name, (value, _) in zip(names, resolved, strict=True) for part in (name, value))
    return Call("named_struct", pairs), type_


def _common_of(whole: Expression, values: list[Typed]) -> DataType:
    shared: DataType | None = NULL
    for _, type_ in values:
        shared = common(shared, type_) if shared is not None else None
    if shared is None:
        given = ", ".join(str(type_) for _, type_ in values)
        raise ExpressionError(
            f"the values of {print_expression(whole)!r} have no common type ({given}).", hint="convert with CAST."
        )
    return shared


def coerce(expression: Expression, source: DataType, target: DataType) -> Expression:
    """An explicit conversion where the types differ; constants become constants of the wanted type."""
    if source == target:
        return expression
    if isinstance(expression, Literal):
        if expression.value is None:
            return Literal(None, target)
        constant = converted(expression, target)
        if constant is not None:
            return constant
    if source == DATE and target == TIMESTAMP and isinstance(expression, Literal) and isinstance(expression.value, int):
        return Literal(expression.value * 86_400_000_000, TIMESTAMP)
    return Cast(expression, target)

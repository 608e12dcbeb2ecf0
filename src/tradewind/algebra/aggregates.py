"""Aggregates: three functions each (lift, merge, finish), and what they promise.

The promises say what planning may do: partials of a `mergeable` aggregate may be made anywhere and merged in any
order; an `invertible` one takes rows back (negative weights); an `idempotent` one may see a row twice; a `bounded`
one keeps a state that does not grow with its rows; an inexact one is within `error` of the exact answer. The
functions themselves are the interpreter's and Spark's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from tradewind.algebra.expressions.functions import FUNCTIONS
from tradewind.algebra.expressions.parse import parse_raw
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Expression, Literal, LiteralValue, walk
from tradewind.algebra.expressions.typing import coerce, parse_expression, resolve
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    DataType,
    array,
    common,
    decimal,
    is_integer,
    is_numeric,
    is_orderable,
    struct,
)  # fmt: skip
from tradewind.errors import ExpressionError, InputError

Parameters = tuple[LiteralValue, ...]
ResultRule = Callable[[DataType | None], DataType | None]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant that an aggregate takes after its value."""

    name: str
    low: float
    high: float
    default: float | int | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """One aggregate: what it takes and gives, and its promises."""

    name: str
    meaning: str
    result: ResultRule
    parameters: tuple[Parameter, ...] = ()
    takes_value: bool = True
    mergeable: bool = True
    invertible: bool = False
    idempotent: bool = False
    bounded: bool = True
    ordered: bool = False
    exact_twin: str | None = None
    """For an approximate aggregate, the exact one that it approximates."""
    error: Callable[[Parameters], float] = lambda _: 0.0
    """The promised error: relative for counts, of the rank for quantiles, of all rows for heavy hitters."""


def _total(type_: DataType | None) -> DataType | None:
    if type_ is None or not (is_numeric(type_) or type_ == INTERVAL):
        return None
    if type_.name == "DECIMAL":
        return decimal(min(38, type_.parameters[0] + 10), type_.parameters[1])
    return type_ if type_ == INTERVAL else BIGINT if is_integer(type_) else DOUBLE


def _average(type_: DataType | None) -> DataType | None:
    if type_ is not None and type_.name == "DECIMAL":
        precision, scale = type_.parameters
        return DataType("DECIMAL", (min(38, precision + 4), min(38, scale + 4)))
    return _mean(type_)


def _mean(type_: DataType | None) -> DataType | None:
    return DOUBLE if type_ is not None and is_numeric(type_) else None


def _same(type_: DataType | None) -> DataType | None:
    return type_


def _ordered_same(type_: DataType | None) -> DataType | None:
    return type_ if type_ is not None and is_orderable(type_) else None


def _change(type_: DataType | None) -> DataType | None:
    if type_ is None or type_.name in ("TIMESTAMP", "INTERVAL"):
        return INTERVAL if type_ is not None else None
    return type_ if is_numeric(type_) else None


def _count(_: DataType | None) -> DataType | None:
    return BIGINT


def _condition(result: DataType) -> ResultRule:
    return lambda type_: result if type_ == BOOLEAN else None


def _counted_items(type_: DataType | None) -> DataType | None:
    return array(struct(item=type_, count=BIGINT)) if type_ is not None and is_orderable(type_) else None


_QUANTILE = Parameter("p", 0.0, 1.0)
_K = Parameter("k", 1, 10_000, whole=True)


def _hll_error(parameters: Parameters) -> float:
    return float(parameters[0] or 0)  # the user names the relative standard error


def _kll_error(parameters: Parameters) -> float:
    # Rank error of a KLL sketch falls as k to the 0.96; 1.33 % at k = 200 (DataSketches, probed in Spark).
    return float(0.0133 * (200 / float(parameters[1] or 200)) ** 0.96)


_LIST = (
    AggregateFunction("count", "rows, or rows whose value is not NULL", _count, takes_value=False, invertible=True),
    AggregateFunction("count_if", "rows for which the condition is true", _condition(BIGINT), invertible=True),
    AggregateFunction("sum", "the total; NULL without values", _total, invertible=True),
    AggregateFunction("avg", "the mean", _average, invertible=True),
    AggregateFunction("min", "the least value", _ordered_same, idempotent=True),
    AggregateFunction("max", "the greatest value", _ordered_same, idempotent=True),
    AggregateFunction("bool_and", "whether all are true", _condition(BOOLEAN), idempotent=True),
    AggregateFunction("bool_or", "whether one is true", _condition(BOOLEAN), idempotent=True),
    AggregateFunction("var_samp", "the variance of a sample", _mean, invertible=True),
    AggregateFunction("var_pop", "the variance of all", _mean, invertible=True),
    AggregateFunction("stddev_samp", "the standard deviation of a sample", _mean, invertible=True),
    AggregateFunction("stddev_pop", "the standard deviation of all", _mean, invertible=True),
    AggregateFunction("first", "the earliest value", _ordered_same, idempotent=True, ordered=True),
    AggregateFunction("last", "the latest value", _ordered_same, idempotent=True, ordered=True),
    AggregateFunction("delta", "the latest value minus the earliest", _change, idempotent=True, ordered=True),
    AggregateFunction("count_distinct", "different values", _count, invertible=True, bounded=False),
    AggregateFunction(
        "approx_count_distinct", "different values, by a HyperLogLog sketch", _count,
        (Parameter("error", 0.004, 0.3, 0.016),), idempotent=True, exact_twin="count_distinct", error=_hll_error,
    ),
    AggregateFunction(
        "theta_count_distinct", "different values, by a theta sketch", _count, idempotent=True,
        exact_twin="count_distinct", error=lambda _: 0.016,
    ),
    AggregateFunction(
        "percentile", "the value below which the share p lies, between two values in proportion", _mean, (_QUANTILE,),
        invertible=True, bounded=False,
    ),
    AggregateFunction(
        "approx_percentile", "a value near that share, by a KLL sketch", _mean,
        (_QUANTILE, Parameter("k", 8, 65_535, 200, whole=True)), exact_twin="percentile", error=_kll_error,
    ),
    AggregateFunction(
        "top_k", "the k most frequent values with their counts", _counted_items, (_K,), invertible=True, bounded=False,
    ),
    AggregateFunction(
        "approx_top_k", "about the k most frequent values, by a sketch", _counted_items,
        (_K, Parameter("items", 16, 1_000_000, 10_000, whole=True)), exact_twin="top_k",
        error=lambda parameters: 2 / float(parameters[1] or 1),
    ),
)  # fmt: skip

AGGREGATES = {function.name: function for function in _LIST}
"""All built-in aggregates by name."""

AGGREGATE_ALIASES = {
    "mean": "avg", "variance": "var_samp", "stddev": "stddev_samp", "std": "stddev_samp", "median": "percentile",
    "first_value": "first", "last_value": "last", "every": "bool_and", "some": "bool_or", "countif": "count_if",
    "hll_count_distinct": "approx_count_distinct", "kll_percentile": "approx_percentile",
}  # fmt: skip
NAMES = frozenset(AGGREGATES) | frozenset(AGGREGATE_ALIASES)


@dataclass(frozen=True, slots=True)
class UserAggregate:
    """An aggregate given as three expressions.

    `lift` makes a state from the columns named in `over`; `merge` makes one of the states `a` and `b`, in any order;
    `finish` gives the answer from `state`. Rows are taken only once each, so it is neither invertible nor idempotent.
    """

    name: str
    over: Schema
    lift: Expression
    merge: Expression
    finish: Expression
    state: DataType
    result: DataType


def user_aggregate(name: str, *, over: str, lift: str, merge: str, finish: str) -> UserAggregate:
    """Check and build a user-defined aggregate from its three texts."""
    if name.lower() in NAMES or name.lower() in FUNCTIONS or not name.isidentifier():
        raise InputError(f"{name!r} cannot be the name of an aggregate.", hint="choose a plain name that is not taken.")
    parameters = parse_schema(over)
    lifted, state = resolve(parse_raw(lift, where="lift"), parameters)
    merged, again = resolve(parse_raw(merge, where="merge"), Schema((("a", state), ("b", state))))
    if again != state:
        raise InputError(
            f"merge gives {again}, but lift gives {state}.", where=f"aggregate {name}", hint="both must have one type."
        )
    finished = parse_expression(finish, Schema((("state", state),)), where="finish")
    result = resolve(finished, Schema((("state", state),)))[1]
    return UserAggregate(name, parameters, lifted, merged, finished, state, result)


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """An aggregate applied to expressions over the input row."""

    function: str
    arguments: tuple[Expression, ...] = ()
    parameters: Parameters = ()
    user: UserAggregate | None = None

    @property
    def definition(self) -> AggregateFunction:
        """The promises of the aggregate; a user-defined one promises only that it merges."""
        if self.user is not None:
            result = self.user.result
            return AggregateFunction(self.function, "user-defined", lambda _: result, bounded=False)
        return AGGREGATES[self.function]

    def type(self, schema: Schema) -> DataType:
        """The type of the answer over rows of `schema`."""
        if self.user is not None:
            return self.user.result
        value = resolve(self.arguments[0], schema)[1] if self.arguments else None
        found = self.definition.result(value)
        if found is None or (value is None and self.definition.takes_value):
            raise ExpressionError(
                f"{self.function} does not fit {value or 'no value'} in {self}.",
                hint=f"{self.function}: {self.definition.meaning}.",
            )
        return found

    def state_type(self, schema: Schema) -> DataType:
        """The opaque type of its partials: only a merge or a finish of the same aggregate can use them."""
        value = resolve(self.arguments[0], schema)[1] if self.arguments else BOOLEAN
        return DataType("STATE", (), ((self.function, value if self.user is None else self.user.state),))

    def __str__(self) -> str:
        constants = tuple(_constant(value) for value in self.parameters)
        return print_expression(Call(self.function, self.arguments + constants))


def _constant(value: LiteralValue) -> Literal:
    from_int = isinstance(value, int) and not isinstance(value, bool)
    return Literal(value, INT if from_int else DOUBLE)


def aggregate_call(
    call: Expression, schema: Schema, users: dict[str, UserAggregate] | None = None, where: str | None = None
) -> AggregateCall:
    """An aggregate from an untyped call: arguments typed, parameters checked."""
    users = users or {}
    if not isinstance(call, Call) or not is_aggregate(call, users):
        raise ExpressionError(
            f"{print_expression(call)!r} is not an aggregate.",
            where=where,
            hint=f"aggregates: {', '.join(AGGREGATES)}.",
        )
    nested = [part for a in call.arguments for part in walk(a) if isinstance(part, Call) and is_aggregate(part, users)]
    if nested:
        raise ExpressionError(
            f"{print_expression(call)!r} has an aggregate inside an aggregate.",
            where=where,
            hint="aggregate in two steps.",
        )
    if call.function in users:
        return _user_call(call, schema, users[call.function])
    return _built_in(call, schema)


def _built_in(call: Call, schema: Schema) -> AggregateCall:
    name = AGGREGATE_ALIASES.get(call.function, call.function)
    definition = AGGREGATES[name]
    given = list(call.arguments)
    if call.function == "median":
        given.append(Literal(0.5, DOUBLE))
    takes = 1 if definition.takes_value or given else 0
    values, constants = given[:takes], given[takes:]
    if len(values) < takes or len(constants) > len(definition.parameters):
        wanted = ", ".join(["value"] * takes + [p.name for p in definition.parameters])
        raise ExpressionError(f"{name} takes ({wanted}), not {len(given)} arguments.")
    resolved = tuple(_known(*resolve(value, schema)) for value in values)
    parameters = tuple(
        _parameter(name, p, constants[i] if i < len(constants) else None) for i, p in enumerate(definition.parameters)
    )
    built = AggregateCall(name, resolved, parameters)
    built.type(schema)
    return built


def _known(expression: Expression, type_: DataType) -> Expression:
    if type_ == NULL:
        return Literal(None, BOOLEAN)
    return expression


def _parameter(name: str, parameter: Parameter, given: Expression | None) -> LiteralValue:
    if given is None:
        if parameter.default is None:
            raise ExpressionError(f"{name} needs its parameter {parameter.name}.")
        return parameter.default
    value = given.value if isinstance(given, Literal) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ExpressionError(f"{parameter.name} of {name} must be a constant number.")
    if not parameter.low <= value <= parameter.high or (parameter.whole and value != int(value)):
        raise ExpressionError(
            f"{parameter.name} of {name} is {value}; it must lie in {parameter.low} to {parameter.high}."
        )
    return int(value) if parameter.whole else float(value)


def _user_call(call: Call, schema: Schema, user: UserAggregate) -> AggregateCall:
    if len(call.arguments) != len(user.over.columns):
        raise ExpressionError(f"{user.name} takes ({user.over}), not {len(call.arguments)} arguments.")
    arguments = []
    for argument, (name, wanted) in zip(call.arguments, user.over.columns, strict=True):
        found, have = resolve(argument, schema)
        if isinstance(found, Literal) and common(have, wanted) == wanted:
            found, have = coerce(found, have, wanted), wanted
        if have != wanted:
            raise ExpressionError(f"{name} of {user.name} is {wanted}, not {have}.", hint=f"CAST(… AS {wanted}).")
        arguments.append(found)
    return AggregateCall(user.name, tuple(arguments), (), user)


def parse_aggregate(
    text: str, schema: Schema, users: dict[str, UserAggregate] | None = None, where: str | None = None
) -> AggregateCall:
    """Read an aggregate such as `count(*)` or `approx_percentile(latency, 0.95)`."""
    try:
        return aggregate_call(parse_raw(text, aggregate_names(users), where), schema, users, where)
    except InputError as error:
        raise error.placed(where) from None


def aggregate_names(users: dict[str, UserAggregate] | None = None) -> frozenset[str]:
    """All names that call an aggregate."""
    return NAMES | frozenset(users or {})


def is_aggregate(call: Expression, users: dict[str, UserAggregate] | None = None) -> bool:
    """Whether an untyped expression is a call of an aggregate."""
    return isinstance(call, Call) and call.function in aggregate_names(users)

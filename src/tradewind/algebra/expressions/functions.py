"""The allow-list: every function an expression may call, with its typing rule.

A rule takes the argument types and gives the types that the arguments are converted to and the result's, or None when
they do not fit. Functions are deterministic and total: out of range, division by zero and bad conversions give NULL.
`strict` functions give NULL when any argument is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tradewind.algebra.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    array,
    as_decimal,
    common,
    decimal,
    is_integer,
    is_numeric,
    is_orderable,
    struct,
)  # fmt: skip

Types = tuple[DataType, ...]
Rule = Callable[[Types], tuple[Types, DataType] | None]


@dataclass(frozen=True, slots=True)
class Function:
    """One allowed function: its name, how it types, what it takes in words, and whether NULL in means NULL out."""

    name: str
    rule: Rule
    takes: str
    strict: bool = True


def _fixed(result: DataType, *wanted: DataType, optional: int = 0) -> Rule:
    """Exactly these argument types (numbers widen), the last `optional` of which may be left out."""

    def rule(given: Types) -> tuple[Types, DataType] | None:
        if not len(wanted) - optional <= len(given) <= len(wanted):
            return None
        for have, want in zip(given, wanted, strict=False):
            if (
                common(have, want) != want
                and not (have == DATE and want == TIMESTAMP)
                and not (have == TIMESTAMP and want == DATE)
            ):
                return None
        return wanted[: len(given)], result

    return rule


def _numbers(result: DataType | None, count: int) -> Rule:
    """`count` numbers brought to one type; the result is that type, or the one given."""

    def rule(given: Types) -> tuple[Types, DataType] | None:
        shared = _shared(given)
        if len(given) != count or shared is None or not (is_numeric(shared) or shared == NULL):
            return None
        shared = DOUBLE if shared == NULL else shared
        return (shared,) * count, result or shared

    return rule


def _shared(given: Iterable[DataType]) -> DataType | None:
    """The type that all given types convert to."""
    found: DataType | None = NULL
    for type_ in given:
        found = common(found, type_) if found is not None else None
    return found


def _alike(result: DataType | None, low: int, high: int = 255, *, ordered: bool = False) -> Rule:
    """Any number of values of one type."""

    def rule(given: Types) -> tuple[Types, DataType] | None:
        shared = _shared(given)
        if not low <= len(given) <= high or shared is None or (ordered and not is_orderable(shared)):
            return None
        return (shared,) * len(given), result or shared

    return rule


def _add(given: Types) -> tuple[Types, DataType] | None:
    if set(given) == {TIMESTAMP, INTERVAL} or set(given) == {DATE, INTERVAL}:
        wanted = tuple(TIMESTAMP if type_ == DATE else type_ for type_ in given)
        return wanted, TIMESTAMP
    if given == (INTERVAL, INTERVAL):
        return given, INTERVAL
    return _arithmetic(lambda p1, s1, p2, s2: (max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2)))(given)


def _subtract(given: Types) -> tuple[Types, DataType] | None:
    if len(given) == 2 and given[0] in (TIMESTAMP, DATE) and given[1] == INTERVAL:
        return (TIMESTAMP, INTERVAL), TIMESTAMP
    if len(given) == 2 and set(given) <= {TIMESTAMP, DATE} and TIMESTAMP in given:
        return (TIMESTAMP, TIMESTAMP), INTERVAL
    return None if TIMESTAMP in given or DATE in given else _add(given)


def _arithmetic(digits: Callable[[int, int, int, int], tuple[int, int]]) -> Rule:
    """Integers and floats at their common type; decimals at the digits that Spark gives the operation."""

    def rule(given: Types) -> tuple[Types, DataType] | None:
        shared = _shared(given)
        if len(given) != 2 or shared is None or not (is_numeric(shared) or shared == NULL):
            return None
        if shared.name == "DECIMAL":
            left, right = (as_decimal(type_) if type_ != NULL else shared for type_ in given)
            return (left, right), decimal(*digits(*left.parameters, *right.parameters))
        shared = DOUBLE if shared == NULL else shared
        return (shared, shared), shared

    return rule


def _multiply(given: Types) -> tuple[Types, DataType] | None:
    if len(given) == 2 and INTERVAL in given and any(is_integer(type_) for type_ in given):
        return tuple(INTERVAL if type_ == INTERVAL else BIGINT for type_ in given), INTERVAL
    return _arithmetic(lambda p1, s1, p2, s2: (p1 + p2 + 1, s1 + s2))(given)


def _divide(given: Types) -> tuple[Types, DataType] | None:
    shared = _shared(given)
    if len(given) == 2 and shared is not None and shared.name == "DECIMAL":
        return _arithmetic(lambda p1, s1, p2, s2: (p1 - s1 + s2 + max(6, s1 + p2 + 1), max(6, s1 + p2 + 1)))(given)
    fits = len(given) == 2 and all(is_numeric(type_) or type_ == NULL for type_ in given)
    return ((DOUBLE, DOUBLE), DOUBLE) if fits else None


def _remainder(given: Types) -> tuple[Types, DataType] | None:
    return _arithmetic(lambda p1, s1, p2, s2: (min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2)))(given)


def _quotient(given: Types) -> tuple[Types, DataType] | None:
    fits = all(is_integer(type_) or type_.name == "DECIMAL" or type_ == NULL for type_ in given)
    return _numbers(BIGINT, 2)(given) if fits else None


def _negate(given: Types) -> tuple[Types, DataType] | None:
    fits = len(given) == 1 and (is_numeric(given[0]) or given[0] == INTERVAL)
    return (given, given[0]) if fits else None


def _whole(given: Types) -> tuple[Types, DataType] | None:
    """floor and ceil: a whole number."""
    if len(given) != 1 or not is_numeric(given[0]):
        return None
    if given[0].name == "DECIMAL":
        precision, scale = given[0].parameters
        return given, decimal(precision - scale + 1, 0) if scale else given[0]
    return given if is_integer(given[0]) else (DOUBLE,), BIGINT


def _round(given: Types) -> tuple[Types, DataType] | None:
    if not 1 <= len(given) <= 2 or not is_numeric(given[0]) or (len(given) == 2 and given[1] != INT):
        return None
    first = DOUBLE if given[0] == FLOAT else given[0]
    return (first, *given[1:]), rounded_type(first, 0)


def rounded_type(type_: DataType, places: int) -> DataType:
    """The type of `round(value, places)`; a DECIMAL keeps so many digits behind the point, and may need one before it.

    >>> str(rounded_type(decimal(10, 2), 1)), str(rounded_type(decimal(10, 2), -1)), str(rounded_type(INT, -1))
    ('DECIMAL(10,1)', 'DECIMAL(9,0)', 'INT')
    """
    if type_.name != "DECIMAL":
        return type_
    precision, scale = type_.parameters
    kept = max(min(scale, places), 0)
    whole = max(precision - scale + 1, 1 - places)
    return DataType("DECIMAL", (min(whole + kept, MAX_PRECISION), kept))


def _conditions(given: Types) -> tuple[Types, DataType] | None:
    return ((BOOLEAN,) * len(given), BOOLEAN) if len(given) > 1 and set(given) <= {BOOLEAN, NULL} else None


def _conditional(given: Types) -> tuple[Types, DataType] | None:
    shared = _shared(given[1:]) if len(given) == 3 and given[0] in (BOOLEAN, NULL) else None
    return ((BOOLEAN, shared, shared), shared) if shared is not None else None


def _any(result: DataType, low: int = 1, high: int = 255) -> Rule:
    return lambda given: (given, result) if low <= len(given) <= high else None


def _array(given: Types) -> tuple[Types, DataType] | None:
    shared = _shared(given)
    return ((shared,) * len(given), array(shared)) if given and shared is not None else None


def _element_at(given: Types) -> tuple[Types, DataType] | None:
    fits = len(given) == 2 and given[0].name == "ARRAY" and is_integer(given[1])
    return ((given[0], INT), given[0].element) if fits else None


def _array_contains(given: Types) -> tuple[Types, DataType] | None:
    if len(given) != 2 or given[0].name != "ARRAY":
        return None
    element = given[0].element
    return ((given[0], element), BOOLEAN) if common(given[1], element) == element else None


def _size(given: Types) -> tuple[Types, DataType] | None:
    return (given, INT) if len(given) == 1 and given[0].name == "ARRAY" else None


def _text(*more: DataType, result: DataType = STRING, optional: int = 0) -> Rule:
    return _fixed(result, STRING, *more, optional=optional)


def _md5(given: Types) -> tuple[Types, DataType] | None:
    return (given, STRING) if len(given) == 1 and given[0] in (STRING, BINARY) else None


def _crc32(given: Types) -> tuple[Types, DataType] | None:
    return (given, BIGINT) if len(given) == 1 and given[0] in (STRING, BINARY) else None


_ANY_ORDERED = _alike(BOOLEAN, 2, 2, ordered=True)
_TIME_PART = _fixed(INT, TIMESTAMP)
_DATE_PART = _fixed(INT, DATE)

_LIST = (
    # Operators, under their symbols.
    Function("+", _add, "two numbers, or a time and an interval"),
    Function("-", _subtract, "two numbers, two times, or a time and an interval"),
    Function("*", _multiply, "two numbers, or an interval and a whole number"),
    Function("/", _divide, "two numbers; the result is DOUBLE (DECIMAL for decimals), NULL when dividing by zero"),
    Function("%", _remainder, "two numbers; the sign is the first one's"),
    Function("div", _quotient, "two whole numbers or decimals; the whole part of the quotient"),
    Function("negative", _negate, "a number or an interval"),
    *(Function(op, _ANY_ORDERED, "two values of one type") for op in ("=", "<>", "<", "<=", ">", ">=")),
    Function("<=>", _ANY_ORDERED, "two values of one type; NULL equals NULL", strict=False),
    Function("and", _conditions, "conditions", strict=False),
    Function("or", _conditions, "conditions", strict=False),
    Function("not", _fixed(BOOLEAN, BOOLEAN), "a condition"),
    Function("in", _alike(BOOLEAN, 2, 10_000), "a value and the values it may have", strict=False),
    Function("like", _text(STRING, result=BOOLEAN), "a text and a pattern with % and _"),
    Function("isnull", _any(BOOLEAN, 1, 1), "any value", strict=False),
    Function("isnotnull", _any(BOOLEAN, 1, 1), "any value", strict=False),
    # Choice.
    Function("if", _conditional, "a condition and two values of one type", strict=False),
    Function("coalesce", _alike(None, 1), "values of one type", strict=False),
    Function("nullif", _alike(None, 2, 2), "two values of one type", strict=False),
    Function("greatest", _alike(None, 2, ordered=True), "values of one type; NULLs are passed over", strict=False),
    Function("least", _alike(None, 2, ordered=True), "values of one type; NULLs are passed over", strict=False),
    # Numbers.
    Function("abs", _numbers(None, 1), "a number"),
    Function("sign", _fixed(DOUBLE, DOUBLE), "a number"),
    Function("ceil", _whole, "a number"),
    Function("floor", _whole, "a number"),
    Function("round", _round, "a number and the digits to keep; halves go away from zero"),
    Function("pmod", _remainder, "two numbers; the result is not negative for a positive divisor"),
    *(Function(name, _fixed(DOUBLE, DOUBLE), "a number") for name in ("sqrt", "exp", "ln", "log10", "log2")),
    Function("pow", _fixed(DOUBLE, DOUBLE, DOUBLE), "two numbers"),
    Function("isnan", _fixed(BOOLEAN, DOUBLE), "a number", strict=False),
    # Text.
    *(Function(name, _text(), "a text") for name in ("upper", "lower", "trim", "ltrim", "rtrim", "reverse")),
    Function("length", _text(result=INT), "a text; counts characters"),
    Function("concat", lambda given: (given, STRING) if set(given) <= {STRING, NULL} and given else None, "texts"),
    Function("concat_ws", lambda given: (given, STRING) if set(given) <= {STRING, NULL} and given else None,
             "a separator and texts; NULLs are left out", strict=False),
    Function("substring", _text(INT, INT, optional=1), "a text, a first position from 1, a length"),
    Function("left", _text(INT), "a text and a length"),
    Function("right", _text(INT), "a text and a length"),
    Function("replace", _text(STRING, STRING, optional=1), "a text, what to replace, with what"),
    Function("split_part", _text(STRING, INT), "a text, a delimiter, the number of the part from 1"),
    Function("startswith", _text(STRING, result=BOOLEAN), "a text and its possible start"),
    Function("endswith", _text(STRING, result=BOOLEAN), "a text and its possible end"),
    Function("contains", _text(STRING, result=BOOLEAN), "a text and what it may contain"),
    Function("instr", _text(STRING, result=INT), "a text and what to find in it; 0 when absent"),
    Function("lpad", _text(INT, STRING, optional=1), "a text, a length, the padding"),
    Function("rpad", _text(INT, STRING, optional=1), "a text, a length, the padding"),
    # Hashes.
    Function("xxhash64", _any(BIGINT), "any values", strict=False),
    Function("crc32", _crc32, "a text or bytes"),
    Function("md5", _md5, "a text or bytes"),
    # Time.
    Function("date_trunc", _fixed(TIMESTAMP, STRING, TIMESTAMP), "a unit in quotes and a time"),
    *(Function(name, _DATE_PART, "a date") for name in (
        "year", "quarter", "month", "day", "dayofweek", "dayofyear")),
    *(Function(name, _TIME_PART, "a time") for name in ("hour", "minute", "second")),
    Function("date_add", _fixed(DATE, DATE, INT), "a date and days"),
    Function("date_sub", _fixed(DATE, DATE, INT), "a date and days"),
    Function("datediff", _fixed(INT, DATE, DATE), "an end and a start date"),
    *(Function(name, _fixed(BIGINT, TIMESTAMP), "a time") for name in ("unix_seconds", "unix_millis", "unix_micros")),
    *(Function(name, _fixed(TIMESTAMP, BIGINT), "a whole number") for name in (
        "timestamp_seconds", "timestamp_millis", "timestamp_micros")),
    # Arrays and structs.
    Function("array", _array, "values of one type", strict=False),
    Function("size", _size, "an array"),
    Function("element_at", _element_at, "an array and a position from 1, or from the end when negative"),
    Function("array_contains", _array_contains, "an array and a value"),
)  # fmt: skip

FUNCTIONS = {function.name: function for function in _LIST}
"""All allowed scalar functions by name. `named_struct` is typed apart, because field names are part of its type."""

ALIASES = {
    "substr": "substring", "ucase": "upper", "lcase": "lower", "power": "pow", "ceiling": "ceil", "mod": "%",
    "char_length": "length", "character_length": "length", "dayofmonth": "day", "nvl": "coalesce", "ifnull": "coalesce",
    "date_diff": "datediff", "signum": "sign", "dateadd": "date_add",
}  # fmt: skip

TRUNC_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")
"""What `date_trunc` may cut a time to."""

_WHY_NOT = {
    "it calls Java": ("reflect", "java_method", "try_reflect"),
    "it reads where a row is stored": ("input_file_name", "input_file_block_start", "input_file_block_length"),
    "its answer differs each time": ("rand", "randn", "random", "uuid", "shuffle", "randstr", "uniform"),
    "its answer depends on how rows are spread over workers": ("monotonically_increasing_id", "spark_partition_id"),
    "its answer depends on the clock": (
        "now", "current_timestamp", "current_date", "localtimestamp", "curdate", "unix_timestamp", "current_time",
    ),
    "it reads who runs the query": ("current_user", "user", "session_user"),
    "it reads the catalog": ("current_database", "current_catalog", "current_schema"),
    "it reads the machine": ("version",),
    "it stops the query": ("assert_true", "raise_error"),
    "regular expressions differ between engines and can take exponential time": (
        "rlike", "regexp", "regexp_like", "regexp_extract", "regexp_replace", "regexp_count", "regexp_extract_all",
    ),
}  # fmt: skip
REASONS = {name: why for why, names in _WHY_NOT.items() for name in names}
"""Why some well-known functions are not on the list; the rest are just not on it."""


def struct_type(names: Iterable[str], types: Iterable[DataType]) -> DataType:
    """The type of `named_struct` with these fields."""
    return struct(**dict(zip(names, types, strict=True)))

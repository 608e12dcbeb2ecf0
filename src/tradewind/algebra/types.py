"""The types of values, named as Spark names them, and how they are read, printed and brought together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tradewind.errors import InputError, closest

MICROS = 1_000_000
"""Microseconds in a second: times and intervals are whole microseconds everywhere."""


@dataclass(frozen=True, slots=True)
class DataType:
    """A type: a name, numbers for DECIMAL, named parts for STRUCT, ARRAY (one part, `element`) and STATE."""

    name: str
    parameters: tuple[int, ...] = ()
    fields: tuple[tuple[str, DataType], ...] = ()

    def __str__(self) -> str:
        if self.name == "DECIMAL":
            return f"DECIMAL({self.parameters[0]},{self.parameters[1]})"
        if self.name == "ARRAY":
            return f"ARRAY<{self.element}>"
        if self.fields or self.name in ("STRUCT", "STATE"):
            inner = ", ".join(f"{quoted(name)}: {type_}" for name, type_ in self.fields)
            return f"{self.name}<{inner}>"
        return self.name

    @property
    def element(self) -> DataType:
        """The type of an array's elements."""
        return self.fields[0][1]

    def field(self, name: str) -> DataType | None:
        """The type of a struct's field, or None."""
        return next((type_ for field, type_ in self.fields if field.lower() == name.lower()), None)


BOOLEAN = DataType("BOOLEAN")
TINYINT = DataType("TINYINT")
SMALLINT = DataType("SMALLINT")
INT = DataType("INT")
BIGINT = DataType("BIGINT")
FLOAT = DataType("FLOAT")
DOUBLE = DataType("DOUBLE")
STRING = DataType("STRING")
BINARY = DataType("BINARY")
DATE = DataType("DATE")
TIMESTAMP = DataType("TIMESTAMP")
INTERVAL = DataType("INTERVAL")
NULL = DataType("VOID")

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)
"""From narrow to wide."""

INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_SIMPLE = {t.name: t for t in (BOOLEAN, *INTEGERS, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, INTERVAL, NULL)}
_ALIASES = {
    "BYTE": TINYINT, "SHORT": SMALLINT, "INTEGER": INT, "LONG": BIGINT, "REAL": FLOAT, "TEXT": STRING,
    "VARCHAR": STRING, "CHAR": STRING, "BOOL": BOOLEAN, "TIMESTAMP_LTZ": TIMESTAMP,
}  # fmt: skip
_MEANT = {"DATETIME": "TIMESTAMP", "TIMESTAMP_NTZ": "TIMESTAMP"}
MAX_PRECISION = 38
MAX_DEPTH = 16


def decimal(precision: int, scale: int) -> DataType:
    """DECIMAL with its digits in all and after the point, cut to what Spark can hold as Spark cuts it."""
    if precision > MAX_PRECISION:
        # Spark keeps the whole digits and at least six of the fraction's when both do not fit.
        kept = max(MAX_PRECISION - (precision - scale), min(scale, 6))
        precision, scale = MAX_PRECISION, kept
    return DataType("DECIMAL", (precision, scale))


def array(element: DataType) -> DataType:
    """ARRAY of `element`."""
    return DataType("ARRAY", (), (("element", element),))


def struct(**fields: DataType) -> DataType:
    """STRUCT with the given fields, in order."""
    return DataType("STRUCT", (), tuple(fields.items()))


def window_of(bound: DataType, *, timed_out: bool = False) -> DataType:
    """The type of a `window` column: start and end, and for counted windows whether a timeout closed it."""
    fields = {"start": bound, "end": bound}
    return struct(**fields, timed_out=BOOLEAN) if timed_out else struct(**fields)


def is_integer(type_: DataType) -> bool:
    """TINYINT to BIGINT."""
    return type_ in INTEGER_BITS


def fits(value: int, type_: DataType) -> bool:
    """Whether a whole number lies in the range of an integer type."""
    half: int = 2 ** (INTEGER_BITS[type_] - 1)
    return -half <= value < half


def is_fraction(type_: DataType) -> bool:
    """FLOAT or DOUBLE."""
    return type_ in (FLOAT, DOUBLE)


def is_numeric(type_: DataType) -> bool:
    """Integers, floats and decimals."""
    return is_integer(type_) or is_fraction(type_) or type_.name == "DECIMAL"


def is_orderable(type_: DataType) -> bool:
    """Whether values of the type can be compared with < and sorted."""
    if type_.name in ("STRUCT", "ARRAY"):
        return all(is_orderable(inner) for _, inner in type_.fields)
    return type_.name not in ("STATE", "INTERVAL") or type_ == INTERVAL


def common(left: DataType, right: DataType) -> DataType | None:
    """The narrowest type both convert to without losing meaning, or None.

    >>> str(common(INT, DOUBLE)), str(common(INT, BIGINT)), common(INT, STRING)
    ('DOUBLE', 'BIGINT', None)
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if is_integer(left) and is_integer(right):
        return max(left, right, key=INTEGERS.index)
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if left.name == right.name == "ARRAY":
        element = common(left.element, right.element)
        return array(element) if element else None
    return None


def _common_number(left: DataType, right: DataType) -> DataType:
    if FLOAT in (left, right) and left.name != "DOUBLE" and right.name != "DOUBLE":
        other = right if left == FLOAT else left
        return FLOAT if is_integer(other) and other not in (BIGINT, INT) else DOUBLE
    if is_fraction(left) or is_fraction(right):
        return DOUBLE
    (p1, s1), (p2, s2) = as_decimal(left).parameters, as_decimal(right).parameters
    scale, whole = max(s1, s2), max(p1 - s1, p2 - s2)
    # Where both do not fit, Spark gives up digits after the point here, and never those before it.
    return DataType("DECIMAL", (min(MAX_PRECISION, whole + scale), min(scale, MAX_PRECISION - whole)))


def as_decimal(type_: DataType) -> DataType:
    """The decimal that holds every value of an integer type; a decimal is itself."""
    digits = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
    return decimal(digits[type_], 0) if type_ in digits else type_


_COLUMNS = "write columns as 'name TYPE, name TYPE', for example 'ts TIMESTAMP, domain STRING'."
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)+`)|([A-Za-z_][A-Za-z_0-9]*)|(\d+)|([<>():,]))")


class TypeReader:
    """Reads types and column lists from text, token by token, naming the place of what it cannot read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def peek(self) -> str:
        """The next token, or an empty string at the end."""
        found = _TOKEN.match(self.text, self.position)
        if found:
            return found.group().strip()
        rest = self.text[self.position :].strip()
        if rest:
            raise self.problem(f"cannot read {rest[:20]!r}")
        return ""

    def next(self) -> str:
        """The next token, consumed."""
        token = self.peek()
        found = _TOKEN.match(self.text, self.position)
        self.position = found.end() if found else len(self.text)
        return token

    def expect(self, wanted: str) -> None:
        """Consume `wanted` or fail."""
        if (token := self.next()) != wanted:
            raise self.problem(f"expected {wanted!r}, found {token or 'the end'!r}")

    def name(self) -> str:
        """A name, in back-quotes or plain."""
        token = self.next()
        if token.startswith("`"):
            return token[1:-1].replace("``", "`")
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise self.problem(f"expected a name, found {token or 'the end'!r}")
        return token

    def type(self, depth: int = 0) -> DataType:
        """A type, nested ones included."""
        if depth > MAX_DEPTH:
            raise self.problem(f"a type nested more than {MAX_DEPTH} deep")
        word = self.name()
        upper = word.upper()
        if upper in ("DECIMAL", "NUMERIC", "DEC"):
            return self._decimal()
        if upper == "ARRAY":
            self.expect("<")
            inner = self.type(depth + 1)
            self.expect(">")
            return array(inner)
        if upper in ("STRUCT", "STATE"):
            return DataType(upper, (), self._fields(depth))
        found = _SIMPLE.get(upper) or _ALIASES.get(upper)
        if found is None:
            guess = _MEANT.get(upper) or closest(upper, [*_SIMPLE, *_ALIASES, "DECIMAL", "ARRAY", "STRUCT"])
            hint = (
                f"did you mean {guess}?" if guess else f"types are {', '.join(_SIMPLE)}, DECIMAL(p,s), ARRAY, STRUCT."
            )
            raise InputError(f"unknown type {word!r} in {_shown(self.text)}.", hint=hint)
        if upper in ("VARCHAR", "CHAR") and self.peek() == "(":
            self.next()
            self._number()
            self.expect(")")
        return found

    def type_of(self, name: str, depth: int = 0) -> DataType:
        """The type behind a column's or field's name."""
        if self.peek() == ":":
            self.next()
        if self.peek() in ("", ",", ">"):
            raise InputError(f"column {name!r} has no type in {_shown(self.text)}.", hint=_COLUMNS)
        found = self.type(depth)
        if self.peek().upper() == "NOT":
            raise self.problem("NOT NULL is not known here", "columns may always be NULL; leave it out.")
        return found

    def _decimal(self) -> DataType:
        precision, scale = 10, 0
        if self.peek() == "(":
            self.next()
            precision = self._number()
            if self.peek() == ",":
                self.next()
                scale = self._number()
            self.expect(")")
        if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise self.problem(f"DECIMAL({precision},{scale}) is out of range")
        return decimal(precision, scale)

    def _number(self) -> int:
        token = self.next()
        if not token.isdigit():
            raise self.problem(f"expected a number, found {token or 'the end'!r}")
        return int(token[:6])

    def _fields(self, depth: int) -> tuple[tuple[str, DataType], ...]:
        fields: list[tuple[str, DataType]] = []
        self.expect("<")
        while self.peek() != ">":
            name = self.name()
            fields.append((name, self.type_of(name, depth + 1)))
            if self.peek() == ",":
                self.next()
        self.expect(">")
        return tuple(fields)

    def problem(self, what: str, hint: str = _COLUMNS) -> InputError:
        """An error at the place reached."""
        return InputError(f"{what} at character {self.position + 1} of {_shown(self.text)}.", hint=hint)


def parse_type(text: str) -> DataType:
    """Read one type.

    >>> str(parse_type("struct<a: int, b array<decimal(5,2)>>"))
    'STRUCT<a: INT, b: ARRAY<DECIMAL(5,2)>>'
    """
    reader = TypeReader(text)
    found = reader.type()
    if reader.peek():
        raise reader.problem(f"nothing may follow the type {found}")
    return found


def quoted(name: str) -> str:
    """A name as `TypeReader` reads it back."""
    return name if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name) else "`" + name.replace("`", "``") + "`"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")

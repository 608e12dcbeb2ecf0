"""Random read and update boxes on one table, and rows for them that come late, repeat and are taken back."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any, NamedTuple

from tests.random_expressions import computed, condition
from tradewind.algebra.expressions.printing import print_expression, print_name
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.operators.core import Source
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.statements import ROW, scope
from tradewind.algebra.tables import Table
from tradewind.algebra.types import DataType, is_fraction, is_integer
from tradewind.errors import InputError
from tradewind.interpreter.run import Weighted
from tradewind.interpreter.values import single
from tradewind.spark.tables.access import running

ROWS = parse_schema(
    "ts TIMESTAMP, k INT, v BIGINT, x DOUBLE, s STRING, m DECIMAL(10,2), b BINARY, d DATE, ok BOOLEAN, f FLOAT,"
    " i TINYINT, a ARRAY<DOUBLE>, w STRUCT<start: TIMESTAMP, note: STRING>",
    "ts",
)
TABLES = (
    Table("notes", parse_schema("id INT, n BIGINT, t STRING"), ("id",)),
    Table(
        'the "wide" 100% one?',
        parse_schema(
            "s STRING, i TINYINT, x DOUBLE, m DECIMAL(10,2), d DATE, at TIMESTAMP, ok BOOLEAN, b BINARY, f FLOAT,"
            " `select` BIGINT, `100% ?` INT"
        ),
        ("S", "i"),
    ),
    Table("odd_keys", parse_schema("m DECIMAL(10,2), at TIMESTAMP, ok BOOLEAN, n BIGINT"), ("m", "at", "ok")),
    Table("log", parse_schema("k INT, x DOUBLE, s STRING")),
)
TEXTS = (
    "a",
    "b",
    "ab",
    "",
    "\0",
    "\0a",
    "\1",
    "\1\1",
    "\1\2",
    "é",
    "e\u0301",
    "𝄞",
    "\uffff",
    "'; --",
    '"',
    "%s ?",
    "NaN",
)


class Asked(NamedTuple):
    """Boxes on one table, their streams, and the rows that come batch by batch to each stream."""

    table: Table
    boxes: list[Read | Update]
    batches: list[dict[str, list[Weighted]]]


def random_boxes(chance: random.Random) -> Asked:
    """Boxes and rows."""
    table = chance.choice(TABLES)
    streams = [Source(name, ROWS, 0, revisions=True) for name in ("one", "two", "three")]
    made: list[Read | Update] = [_update(chance.choice(streams), table, chance, "INSERT")]
    made += [_update(chance.choice(streams), table, chance) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    made += [_read(chance.choice(streams), table, chance) for _ in range(chance.choice((1, 1, 2)))]
    boxes = list(dict.fromkeys(made))
    names = sorted({box.input.stream for box in boxes if isinstance(box.input, Source)})
    return Asked(table, boxes, _batches(names, chance))


def _update(source: Source, table: Table, chance: random.Random, verb: str = "") -> Update:
    report = (("ts", Column("ts")),)
    while True:
        text = _change(verb or chance.choice(("INSERT", "UPDATE", "UPDATE", "DELETE")), table, chance)
        try:
            return Update(source, table, text, report)
        except InputError:
            continue


def _change(verb: str, table: Table, chance: random.Random) -> str:
    name = print_name(table.name)
    if verb == "DELETE":
        return f"DELETE FROM {name}{_where(table, chance)}"
    if verb == "UPDATE":
        # Now and then keys are changed, too.
        columns = [c for c in table.schema.names if chance.random() < (0.1 if c in table.key else 0.6)]
        sets = ", ".join(f"{print_name(c)} = {_value(table, c, chance)}" for c in columns or table.schema.names[-1:])
        return f"UPDATE {name} SET {sets}{_where(table, chance)}"
    kept = [c for c in table.schema.names if chance.random() < 0.95]
    names, values = (", ".join(part) for part in ((map(print_name, kept)), (_new(table, c, chance) for c in kept)))
    return f"INSERT INTO {name} ({names}) VALUES ({values})"


def _read(source: Source, table: Table, chance: random.Random) -> Read:
    while True:
        both = scope(table, ROWS)
        shown = [f"{print_name(c)} AS got_{n}" for n, c in enumerate(table.schema.names) if chance.random() < 0.7]
        if chance.random() < 0.5 or not shown:
            shown.append(f"{_printed(computed(both, chance))} AS more")
        order = limit = ""
        if chance.random() < 0.5:
            sorted_by = [_printed(computed(both, chance)), print_name(chance.choice(table.schema.names))]
            order = " ORDER BY " + ", ".join(
                by + chance.choice((" DESC", "")) for by in chance.sample(sorted_by, chance.choice((1, 2)))
            )
        if chance.random() < 0.5:
            limit = f" LIMIT {chance.choice((0, 1, 1, 2, 3))}"
        text = f"SELECT {', '.join(shown)} FROM {print_name(table.name)}{_where(table, chance)}{order}{limit}"
        try:
            return Read(source, table, text, chance.random() < 0.5)
        except InputError:
            continue


def _where(table: Table, chance: random.Random) -> str:
    draw = chance.random()
    if draw < 0.15:
        return ""
    if draw < 0.65 and table.key:
        signs = ("=", "=", "=", "=", "<=", ">")
        parts = [f"{_cast(table, c, chance)} {chance.choice(signs)} {_same(table, c, chance)}" for c in table.key]
    else:
        column = chance.choice(table.schema.names)
        parts = [f"{_same(table, column, chance)} {chance.choice(('=', '<', '>='))} {_cast(table, column, chance)}"]
    if chance.random() < 0.35:
        parts = chance.choice((parts, parts[1:]))
        parts.append(f"({_printed(condition(scope(table, ROWS), chance))})")
    return " WHERE " + " AND ".join(parts)


def _cast(table: Table, column: str, chance: random.Random) -> str:
    """A column; a whole number now and then as a wider or narrower one."""
    if is_integer(table.schema.type_of(column)) and chance.random() < 0.15:
        return f"CAST({print_name(column)} AS {chance.choice(('TINYINT', 'INT', 'BIGINT'))})"
    return print_name(column)


def _same(table: Table, column: str, chance: random.Random) -> str:
    """The row's column of a column's type, or of a wider one."""
    type_ = table.schema.type_of(column)
    fit = [name for name, other in ROWS.columns if other == type_]
    if is_integer(type_) and chance.random() < 0.2:
        fit = ["k", "v", "i"]
    return f":{chance.choice(fit)}"


def _new(table: Table, column: str, chance: random.Random) -> str:
    if chance.random() < 0.85:
        return _same(table, column, chance)
    made = computed(running(ROWS), chance)
    return f"CAST({_printed(made)} AS {table.schema.type_of(column)})"


def _value(table: Table, column: str, chance: random.Random) -> str:
    type_ = table.schema.type_of(column)
    if is_integer(type_) and chance.random() < 0.4:
        return f"CAST({print_name(column)} + {_same(table, column, chance)} AS {type_})"
    if chance.random() < 0.4:
        return _same(table, column, chance)
    return f"CAST({_printed(computed(scope(table, ROWS), chance))} AS {type_})"


def _printed(expression: Any) -> str:
    return print_expression(expression).replace(ROW, ":")


def _batches(streams: list[str], chance: random.Random) -> list[dict[str, list[Weighted]]]:
    seen: list[tuple] = []
    batches = []
    for number in range(chance.randrange(2, 7)):
        batch: dict[str, list[Weighted]] = {}
        for stream in streams:
            rows = []
            for _ in range(chance.randrange(9)):
                repeated = seen and chance.random() < 0.3
                values = chance.choice(seen) if repeated else _row(number, chance)
                seen.append(values)
                rows.append(Weighted(values, chance.choice((1, 2, -1, -1) if repeated else (1, 1, 1, 1, 1, 1, 2, -1))))
            batch[stream] = rows
        batches.append(batch)
    return batches


def _row(batch: int, chance: random.Random) -> tuple:
    """Later batches have later times, mostly."""
    time = batch * 10 + chance.randrange(-12, 10)
    moment = None if chance.random() < 0.03 else chance.choice((time, time, time, 5, 2**40, -(2**50)))
    return (moment, *(random_value(type_, chance) for _, type_ in ROWS.columns[1:]))


def random_value(type_: DataType, chance: random.Random) -> Any:
    """A value of a small domain, or a very odd one."""
    if chance.random() < 0.08:
        return None
    common = chance.random() < 0.6
    if is_integer(type_):
        most = {"TINYINT": 2**7, "INT": 2**31, "BIGINT": 2**63}[type_.name]
        return chance.choice((1, 2) if common else (0, 3, -1, most - 1, -most))
    if is_fraction(type_):
        found = chance.choice((0.0, -0.0, 1.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 1e300, 5e-324, 0.1))
        return single(found) if type_.name == "FLOAT" else found
    match type_.name:
        case "BOOLEAN":
            return chance.random() < 0.5
        case "DECIMAL":
            return Decimal(chance.choice(("1.50", "10.00") if common else ("0.00", "-99999999.99", "-0.01")))
        case "BINARY":
            return chance.choice((b"", b"a", b"\0", b"\xff\0"))
        case "DATE":
            return chance.choice((0, 1, -1, 20_000, 2_932_896, -719_162))
        case "TIMESTAMP":
            return chance.choice((0, 5) if common else (1, -1, 253_402_300_799_999_999))
        case "ARRAY":
            return tuple(random_value(type_.element, chance) for _ in range(chance.randrange(3)))
        case "STRUCT":
            return tuple(random_value(inner, chance) for _, inner in type_.fields)
    return chance.choice(TEXTS[:2] if common else TEXTS)

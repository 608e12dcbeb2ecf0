"""Rows written as texts of every format, by rules of their own: nothing here knows how they will be read."""

from __future__ import annotations

import base64
import json
import math
import random
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from tests.spark.nasty_values import rows as nasty_rows
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.times import HIGHEST, LOWEST, format_date, format_timestamp
from tradewind.algebra.types import DataType
from tradewind.interpreter.time_text import interval_text

DAY = 86_400_000_000
FLAT = parse_schema(
    "ts TIMESTAMP, b BOOLEAN, t TINYINT, sm SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, m DECIMAL(20,4), s STRING,"
    " bin BINARY, dt DATE, iv INTERVAL",
    "ts",
)
ALL = parse_schema(
    f"{FLAT}, a ARRAY<INT>, x ARRAY<DOUBLE>, st STRUCT<p: BIGINT, q: ARRAY<STRING>, r: STRUCT<u: TIMESTAMP, v: DATE>>",
    "ts",
)
SIMPLE = parse_schema("ts TIMESTAMP, k STRING, v BIGINT", "ts")


def rows(schema: Schema, count: int, seed: int) -> list[tuple[Any, ...]]:
    """Random rows with odd values, the times in the years 1 to 9999."""
    types = [type_ for _, type_ in schema.columns]
    return [
        tuple(_bounded(value, type_) for value, type_ in zip(row, types, strict=True))
        for row in nasty_rows(schema, count, random.Random(seed))
    ]


def _bounded(value: Any, type_: DataType) -> Any:
    if value is None:
        return None
    match type_.name:
        case "TIMESTAMP":
            return min(max(value, LOWEST), HIGHEST)
        case "DATE":
            return min(max(value, LOWEST // DAY), HIGHEST // DAY)
        case "ARRAY":
            return tuple(_bounded(part, type_.element) for part in value)
        case "STRUCT":
            return tuple(_bounded(part, inner) for part, (_, inner) in zip(value, type_.fields, strict=True))
    return value


def text(value: Any, type_: DataType) -> str:
    """A single value as text."""
    match type_.name:
        case "BOOLEAN":
            return "true" if value else "false"
        case "TIMESTAMP":
            return format_timestamp(value)
        case "DATE":
            return format_date(value)
        case "INTERVAL":
            return interval_text(value)
        case "BINARY":
            return base64.b64encode(value).decode()
        case "DECIMAL":
            return format(value, "f")
        case "FLOAT" | "DOUBLE":
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
    return str(value)


def json_text(value: Any, type_: DataType) -> str:
    """A value as JSON; numbers are numbers."""
    if value is None:
        return "null"
    match type_.name:
        case "ARRAY":
            return f"[{', '.join(json_text(part, type_.element) for part in value)}]"
        case "STRUCT":
            pairs = zip(type_.fields, value, strict=True)
            return (
                "{" + ", ".join(f"{json.dumps(name)}: {json_text(part, inner)}" for (name, inner), part in pairs) + "}"
            )
        case "STRING":
            return json.dumps(value, ensure_ascii=len(value) % 2 == 0)
        case "TIMESTAMP" | "DATE" | "INTERVAL" | "BINARY":
            return json.dumps(text(value, type_))
    return text(value, type_)


def json_lines(rows: list[tuple[Any, ...]], schema: Schema) -> bytes:
    """Rows as JSON lines."""
    lines = []
    for row in rows:
        pairs = zip(schema.columns, row, strict=True)
        fields = [f"{json.dumps(name)}:{json_text(value, type_)}" for (name, type_), value in pairs]
        lines.append("{" + ",".join(fields) + "}\n")
    return "".join(lines).encode()


def csv_lines(rows: list[tuple[Any, ...]], schema: Schema, *, header: bool = True, delimiter: str = ",") -> bytes:
    """Rows as CSV, texts always in quotes; nested values are JSON."""
    lines = [delimiter.join(schema.names)] if header else []
    for row in rows:
        fields = []
        for value, (_, type_) in zip(row, schema.columns, strict=True):
            plain = json_text(value, type_) if type_.fields else "" if value is None else text(value, type_)
            quoted = value is not None and (type_.name in ("STRING", "BINARY") or '"' in plain or delimiter in plain)
            fields.append('"' + plain.replace('"', '""') + '"' if quoted else "" if value is None else plain)
        lines.append(delimiter.join(fields))
    return "".join(f"{line}\n" for line in lines).encode()


def xml_document(rows: list[tuple[Any, ...]], schema: Schema, tag: str = "row") -> bytes:
    """Rows as an XML document; a NULL is an element that is not there, and so is an array without elements."""
    body = "".join(
        f"<{tag}>{''.join(_element(n, v, t) for (n, t), v in zip(schema.columns, row, strict=True))}</{tag}>\n"
        for row in rows
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{tag}s>\n{body}</{tag}s>\n'.encode()


def _element(name: str, value: Any, type_: DataType) -> str:
    if value is None:
        return ""
    if type_.name == "ARRAY":
        return "".join(f"<{name}/>" if v is None else _element(name, v, type_.element) for v in value)
    if type_.name == "STRUCT":
        inner = "".join(_element(n, v, t) for (n, t), v in zip(type_.fields, value, strict=True))
        return f"<{name}>{inner}</{name}>"
    return f"<{name}>{escape(text(value, type_))}</{name}>"


def plain(value: Any) -> Any:
    """A value that can be compared: NaN equals itself, decimals of one number are equal."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value.normalize() if isinstance(value, Decimal) else value

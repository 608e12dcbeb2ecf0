"""Columns as formats can hold them that do not know all types or characters."""

from __future__ import annotations

from collections.abc import Callable

from tradewind.algebra.types import DataType
from tradewind.spark.literals import text_sql
from tradewind.spark.types import quote

TIMES = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""How Spark is to write times: left to itself, it cuts microseconds off."""
_NOT_IN_XML = r"[\x00-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]"


def csv_sql(sql: str, type_: DataType) -> str:
    """CSV has no nested values."""
    match type_.name:
        case "STRUCT" | "ARRAY":
            return f"to_json({sql}, map('timestampFormat', {text_sql(TIMES)}))"
        case "BINARY":
            return f"base64({sql})"
    return sql


def xml_sql(sql: str, type_: DataType) -> str:
    """XML has no bytes, and most control characters cannot be written at all: they become U+FFFD."""
    match type_.name:
        case "STRING":
            return f"regexp_replace({sql}, {text_sql(_NOT_IN_XML)}, {text_sql(chr(0xFFFD))})"
        case "BINARY":
            return f"base64({sql})"
        case "ARRAY":
            return f"transform({sql}, e -> {xml_sql('e', type_.element)})"
        case "STRUCT":
            parts = [f"{text_sql(n)}, {xml_sql(f'{sql}.{quote(n)}', inner)}" for n, inner in type_.fields]
            return f"if({sql} IS NULL, NULL, named_struct({', '.join(parts)}))"
    return sql


ENCODERS: dict[str, Callable[[str, DataType], str]] = {"csv": csv_sql, "xml": xml_sql}
"""The SQL of a column in a format."""

"""Files parsed as a worker would, without Spark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tests.spark.sources.writing import plain
from tradewind.algebra.schema import Schema
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.csv_records import header_of
from tradewind.spark.sources.landing import PARSERS
from tradewind.spark.sources.parsing import Reading
from tradewind.spark.sources.records import Letter, Part
from tradewind.spark.types import from_arrow


class Parsed(NamedTuple):
    rows: list[tuple[Any, ...]]
    letters: list[Letter]

    @property
    def reasons(self) -> list[tuple[int, str]]:
        """The numbers of bad records, and why they are bad."""
        return [(number, reason) for number, reason, _ in sorted(self.letters)]


def parsed(
    path: Path, format_: str, schema: Schema, data: bytes | None = None, *, careful: bool = False, **options: Any
) -> Parsed:
    """The rows and letters of a file, which is written first if data are given."""
    if data is not None:
        path.write_bytes(data)
    reading = Reading(schema, checked(format_, options), careful=careful)
    if format_ == "csv" and reading.options["header"]:
        reading = replace(reading, columns=header_of(str(path), reading))
    return of_part(Part(str(path)), format_, reading)


def of_part(part: Part, format_: str, reading: Reading) -> Parsed:
    rows: list[tuple[Any, ...]] = []
    letters: list[Letter] = []
    for found in PARSERS[format_](part, reading):
        rows += from_arrow(found.table, reading.schema)
        letters += found.letters
    return Parsed([plain(row) for row in rows], letters)

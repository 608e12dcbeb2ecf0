"""What a converter is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from tradewind.algebra.schema import Schema
from tradewind.errors import InputError


class Converted(NamedTuple):
    """As many rows as there were records, in order; for a bad record a row of any content and, beside it, a reason.

    The table's columns are declared ones, in any order, in their Arrow types or as texts, which are then converted as
    in every other format. Columns that it lacks are NULL. `reasons` are texts, NULL for records that are good.
    """

    table: pa.Table
    reasons: pa.Array


class Converter(Protocol):
    """Turns records into columns, and columns into records.

    One is made with the options that the deployment gives and the columns of its stream; options that it does not know
    are its own to refuse, with an `InputError`.
    """

    record_bytes: int | None
    """The length of its records where they are bytes without any separator; None for lines."""

    def __init__(self, options: Mapping[str, Any], schema: Schema) -> None:
        """A converter for a stream's columns."""

    def convert(self, records: pa.Array) -> Converted:
        """The rows of records: strings, which are lines, or byte strings of the same length."""

    def encode(self, table: pa.Table) -> pa.Array:
        """The records of rows, the other way round: strings or byte strings."""


def only(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse options that a converter does not know."""
    for name in options:
        if name not in known:
            raise InputError(f"unknown option {name!r}.", hint=f"there is: {', '.join(known)}.")


def good(length: int) -> pa.Array:
    """The reasons of records none of which is bad."""
    return pa.nulls(length, pa.string())

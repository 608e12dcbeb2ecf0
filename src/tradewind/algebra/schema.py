"""What a stream's rows look like, and what is known about when they are settled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tradewind.algebra.types import DataType, TypeReader, quoted
from tradewind.errors import InputError, unknown


@dataclass(frozen=True, slots=True)
class Schema:
    """Named, typed columns, and which of them tell the time.

    `times` pairs a column with a lag in microseconds: all rows with this value of the column are settled once the
    mark has passed the value plus the lag. (The value of a `window` column is its last microsecond; `window.start`
    and `window.end` are listed beside it, for maps that pick them.) An operator that groups by such a column can
    therefore say when its answer is final; windows over time may be laid on the TIMESTAMP ones.
    """

    columns: tuple[tuple[str, DataType], ...]
    times: tuple[tuple[str, int], ...] = ()
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)
    """The columns' names, in order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(name for name, _ in self.columns))
        seen: dict[str, str] = {}
        for name, _ in self.columns:
            if name.lower() in seen:
                other = seen[name.lower()]
                raise InputError(
                    f"two columns are named {name!r}."
                    if name == other
                    else f"the columns {other!r} and {name!r} differ only in case.",
                    hint="rename one of them.",
                )
            seen[name.lower()] = name

    def __str__(self) -> str:
        return ", ".join(f"{quoted(name)} {type_}" for name, type_ in self.columns)

    @property
    def time(self) -> str | None:
        """The first column that windows over time may be laid on, or None."""
        return next((name for name, _ in self.times if self._is_timestamp(name)), None)

    @property
    def soonest(self) -> str | None:
        """Of the columns that windows may be laid on, the one whose rows are settled soonest after its value."""
        known = {name: lag for name, lag in self.times if self._is_timestamp(name)}
        return min(known, key=lambda name: known[name], default=None)

    def _is_timestamp(self, name: str) -> bool:
        return name in self.names and self.type_of(name).name == "TIMESTAMP"

    def lag(self, column: str) -> int | None:
        """How long after its value a time column's rows are settled; None for a column that does not tell the time."""
        return next((lag for name, lag in self.times if name == column), None)

    def find(self, name: str, where: str | None = None) -> str:
        """The column meant by `name`, whatever its case."""
        if name in self.names:
            return name
        for column in self.names:
            if column.lower() == name.lower():
                return column
        raise unknown("column", name, self.names, where)

    def type_of(self, name: str) -> DataType:
        """The type of a column."""
        found = self.find(name)
        return next(type_ for column, type_ in self.columns if column == found)

    def index(self, name: str) -> int:
        """The position of a column."""
        return self.names.index(self.find(name))

    def select(self, names: Iterable[str]) -> Schema:
        """Only the named columns."""
        kept = tuple(names)
        return Schema(
            tuple((name, self.type_of(name)) for name in kept),
            tuple((name, lag) for name, lag in self.times if name in kept),
        )


def parse_schema(text: str, time: str | None = None) -> Schema:
    """Read `name TYPE, name TYPE` and mark the event time.

    >>> str(parse_schema("ts timestamp, domain string", time="ts"))
    'ts TIMESTAMP, domain STRING'
    """
    reader = TypeReader(text)
    columns: list[tuple[str, DataType]] = []
    while True:
        name = reader.name()
        columns.append((name, reader.type_of(name)))
        if not reader.peek():
            break
        reader.expect(",")
    schema = Schema(tuple(columns))
    if time is None:
        return schema
    found = schema.find(time)
    if schema.type_of(found).name != "TIMESTAMP":
        raise InputError(
            f"the event time {found!r} has type {schema.type_of(found)}.",
            hint="declare it as TIMESTAMP, or derive a TIMESTAMP from it with timestamp_seconds() in a map.",
        )
    return Schema(schema.columns, ((found, 0),))


def own_names(schema: Schema) -> InputError | None:
    """What is wrong with a schema whose names begin as those of Tradewind's own columns do."""
    taken = next((name for name in schema.names if name.startswith("_")), None)
    if taken is None:
        return None
    return InputError(
        f"column {taken!r} begins with an underscore, as Tradewind's own columns do.", hint="call it something else."
    )

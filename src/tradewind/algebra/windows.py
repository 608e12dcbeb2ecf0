"""Windows: which rows of a group are aggregated together.

`aligned` windows look at each row alone to say which windows it is in, so rows may be aggregated wherever they are
and the results merged. The others look at a row's neighbours and need a group's rows in one place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tradewind.algebra.durations import format_duration
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, TIMESTAMP, DataType, is_numeric, is_orderable, window_of
from tradewind.errors import GraphError

Number = int | float


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Every `step`, the rows whose time lies in the last `size`: tumbling when both are equal, sliding when step is
    smaller.
    """

    column: str
    size: int
    step: int
    offset: int = 0

    aligned = True

    def __post_init__(self) -> None:
        # Moved by a whole step, windows are where they were: one way to say one thing.
        if self.step > 0:
            object.__setattr__(self, "offset", self.offset % self.step)

    def check(self, schema: Schema) -> None:
        """Refuse lengths that make no sense and columns that are not event time."""
        self.check_lengths()
        require_time(schema, self.column)

    def check_lengths(self) -> None:
        """Refuse lengths that make no sense."""
        if self.size <= 0 or self.step <= 0:
            raise GraphError("a window's size and step must be longer than nothing.")
        if self.step > self.size:
            raise GraphError(
                f"a window's step, {format_duration(self.step)}, is longer than its size, {format_duration(self.size)}",
                hint="rows between the windows would be lost; filter them out first if that is meant.",
            )

    def type(self, _: Schema) -> DataType:
        """Start (included) and end (excluded)."""
        return window_of(TIMESTAMP)

    def lag(self, schema: Schema) -> int | None:
        """How long after its end a window is settled."""
        return schema.lag(self.column)

    def __str__(self) -> str:
        step = "" if self.step == self.size else f" every {format_duration(self.step)}"
        offset = f" from {format_duration(self.offset)}" if self.offset else ""
        return f"{format_duration(self.size)}{step} of {self.column}{offset}"


def tiles(fine: TimeWindow, coarse: TimeWindow) -> bool:
    """Whether every window of `coarse` is made of whole windows of `fine`, which lie side by side.

    Then what is known of the fine windows is enough for the coarse ones, and a fine window lies in exactly those
    coarse ones that its start lies in.

    >>> minutes, sliding = TimeWindow("ts", 60, 60), TimeWindow("ts", 300, 120)
    >>> tiles(minutes, sliding), tiles(sliding, minutes)
    (True, False)
    """
    side_by_side = fine.column == coarse.column and fine.size == fine.step
    return side_by_side and all(
        length % fine.size == 0 for length in (coarse.size, coarse.step, coarse.offset - fine.offset)
    )


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Rows of a group that follow one another by at most `gap`, as in Spark."""

    column: str
    gap: int

    aligned = False

    def check(self, schema: Schema) -> None:
        """Refuse a gap of nothing and columns that are not event time."""
        if self.gap <= 0:
            raise GraphError("a session's gap must be longer than nothing.")
        require_time(schema, self.column)

    def type(self, _: Schema) -> DataType:
        """The first time, and the last time plus the gap."""
        return window_of(TIMESTAMP)

    def lag(self, schema: Schema) -> int | None:
        """How long after its last microsecond a session is settled: a row at its very end would still go on with it."""
        lag = schema.lag(self.column)
        return None if lag is None else lag + 1

    def __str__(self) -> str:
        return f"sessions of {self.column} with gaps up to {format_duration(self.gap)}"


@dataclass(frozen=True, slots=True)
class CountedWindow:
    """`size` rows of a group in the order of `order`, a new window every `step` rows.

    With a `timeout`, a silence of that length closes all open windows as they are (`window.timed_out`), and counting
    starts again; without, only full windows count. A row that more than `slack` greater rows of its group overtook is
    dropped; without slack every row is put in its place, whenever it comes.
    """

    order: str
    size: int
    step: int
    timeout: int | None = None
    slack: int | None = None

    aligned = False

    def check(self, schema: Schema) -> None:
        """Refuse counts below one, and timeouts over anything but event time."""
        if self.size < 1 or self.step < 1:
            raise GraphError("a counted window's size and step must be at least one tuple.")
        _check_slack(self.slack)
        if not is_orderable(schema.type_of(self.order)):
            raise GraphError(f"rows cannot be put in the order of {self.order!r}.")
        if self.timeout is not None:
            if self.timeout <= 0:
                raise GraphError("a timeout must be longer than nothing.")
            require_time(schema, self.order)

    def type(self, schema: Schema) -> DataType:
        """The order of the first and the last row (of the deadline, where a timeout closed it), and whether one did."""
        return window_of(schema.type_of(self.order), timed_out=True)

    def lag(self, schema: Schema) -> int | None:
        """How long after its end a window is settled: only known when the order is event time."""
        return schema.lag(self.order)

    def __str__(self) -> str:
        timeout = f", timeout {format_duration(self.timeout)}" if self.timeout is not None else ""
        slack = f", slack {self.slack}" if self.slack is not None else ""
        step = "" if self.step == self.size else f" every {self.step}"
        return f"{self.size} tuples{step} by {self.order}{timeout}{slack}"


@dataclass(frozen=True, slots=True)
class ValueWindow:
    """Rows whose value of an ordered attribute lies within `size` of each multiple of `step`.

    With a `timeout`, a silence of that length within a group's window closes it; a later row opens another one.
    Slack drops rows as in `CountedWindow`.
    """

    column: str
    size: Number
    step: Number
    timeout: int | None = None
    slack: int | None = None

    @property
    def aligned(self) -> bool:
        """A row alone tells its windows, unless silence or slack must be watched."""
        return self.timeout is None and self.slack is None

    def check(self, schema: Schema) -> None:
        """Refuse empty windows and attributes without distances."""
        type_ = schema.type_of(self.column)
        if not (is_numeric(type_) or type_ in (TIMESTAMP, DATE)):
            raise GraphError(f"{self.column!r} is {type_}: windows over values need a number or a time.")
        if self.size <= 0 or self.step <= 0 or self.step > self.size:
            raise GraphError("a value window's size must be above zero and its step between zero and the size.")
        if (isinstance(self.size, float) or isinstance(self.step, float)) and type_.name not in ("FLOAT", "DOUBLE"):
            raise GraphError(f"{self.column!r} is {type_}: its windows need whole sizes and steps.")
        _check_slack(self.slack)
        if self.timeout is not None:
            if self.timeout <= 0:
                raise GraphError("a timeout must be longer than nothing.")
            require_time(schema, None)

    def type(self, schema: Schema) -> DataType:
        """Start (included) and end (excluded), as values of the attribute."""
        return window_of(schema.type_of(self.column))

    def lag(self, _: Schema) -> int | None:
        """Values do not tell when they are settled."""
        return None

    def __str__(self) -> str:
        timeout = f", timeout {format_duration(self.timeout)}" if self.timeout is not None else ""
        slack = f", slack {self.slack}" if self.slack is not None else ""
        step = "" if self.step == self.size else f" every {self.step}"
        return f"{self.size} of {self.column}{step}{timeout}{slack}"


Window = TimeWindow | SessionWindow | CountedWindow | ValueWindow

KINDS: dict[str, type[Window]] = {
    "time": TimeWindow, "session": SessionWindow, "counted": CountedWindow, "values": ValueWindow,
}  # fmt: skip


_KEEP_TIME = (
    "declare `time:` on the stream and keep that column as it is, shifted by an interval, or cut by date_trunc; "
    "a join keeps the times that its band bounds."
)


def require_time(schema: Schema, column: str | None, what: str = "window") -> None:
    """Refuse a column that is not the event time of the stream, or a stream without one."""
    known = [name for name, _ in schema.times if name in schema.names and schema.type_of(name) == TIMESTAMP]
    if column is not None and column in known:
        return
    if column is None and known:
        return
    named = f"{column!r} is not the event time" if column else "the stream has no event time"
    hint = f"its event time is {known[0]!r}." if known else _KEEP_TIME
    raise GraphError(f"{what} without event time: {named}.", hint=hint, candidates=known)


def _check_slack(slack: int | None) -> None:
    if slack is not None and slack < 0:
        raise GraphError("slack must be zero tuples or more.")


def window_to_json(window: Window) -> dict[str, Any]:
    """A window as plain data."""
    kind = next(name for name, class_ in KINDS.items() if class_ is type(window))
    fields = {name: getattr(window, name) for name in window.__dataclass_fields__}
    return {"kind": kind, **{name: value for name, value in fields.items() if value is not None}}


def window_from_json(data: dict[str, Any]) -> Window:
    """The window that `window_to_json` wrote."""
    class_ = KINDS[data["kind"]]
    return class_(**{name: value for name, value in data.items() if name != "kind"})

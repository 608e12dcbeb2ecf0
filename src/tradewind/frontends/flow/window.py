"""How a box writes its window: by time, by session, in tuples, or over an attribute's values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from tradewind.algebra.durations import format_duration
from tradewind.algebra.schema import Schema
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, Window
from tradewind.errors import GraphError
from tradewind.frontends.bounds import distance
from tradewind.frontends.flow.box import at, without_defaults
from tradewind.frontends.flow.fields import Distance, Duration, PositiveDuration, Strict, read_duration
from tradewind.frontends.flow.findings import Misplaced, shown

_KEYS = {
    "session": {"session", "on"},
    "tuples": {"tuples", "step", "timeout", "slack", "order"},
    "values": {"values", "size", "step", "timeout", "slack"},
    "size": {"size", "step", "on", "offset"},
}
_HINT = "{size: 1 minute, step: 10 seconds}, {session: 30 seconds}, {tuples: 2, step: 1} or {values: price, size: 10}."


class WindowKeys(Strict):
    """One of four forms, told apart by the key that only it has. Without a `step`, windows lie side by side.

    `{size: 1 minute, step: 10 seconds, on: ts, offset: 5 seconds}`, `{session: 30 seconds, on: ts}`,
    `{tuples: 2, step: 1, timeout: 5s, slack: 3, order: ts}`, `{values: price, size: 10, step: 5, timeout: 5s, slack:
    3}`.
    """

    size: Distance | None = None
    step: Distance | None = None
    on: str | None = None
    offset: Duration = 0
    session: PositiveDuration | None = None
    tuples: int | None = None
    values: str | None = None
    order: str | None = None
    timeout: PositiveDuration | None = None
    slack: int | None = None

    def build(self, schema: Schema) -> Window:
        """The window over rows of `schema`."""
        form = next((name for name in _KEYS if name in self.model_fields_set), None)
        if form is None:
            raise Misplaced(("window",), GraphError("the window has no size.", hint=f"write {_HINT}"))
        for key in self.model_fields_set:
            if key not in _KEYS[form]:
                what = f"{key!r} does not go with {form!r} in a window."
                raise Misplaced(("window", key), GraphError(what, hint=f"write {_HINT}"))
        with at("window"):
            built: Window = getattr(self, f"_by_{form}")(schema)
            return built

    def _by_size(self, schema: Schema) -> Window:
        size = self._length("size", self.size)
        step = size if self.step is None else self._length("step", self.step)
        return TimeWindow(self._time(schema, "on", self.on), size, step, self.offset)

    def _by_session(self, schema: Schema) -> Window:
        return SessionWindow(self._time(schema, "on", self.on), self.session or 0)

    def _by_tuples(self, schema: Schema) -> Window:
        size = self.tuples or 0
        step = size if self.step is None else self._count("step", self.step)
        return CountedWindow(self._time(schema, "order", self.order), size, step, self.timeout, self.slack)

    def _by_values(self, schema: Schema) -> Window:
        with at("window", "values"):
            column = schema.find(self.values or "")
        if self.size is None:
            raise GraphError("a window over values needs a size.", hint="{values: price, size: 10}.")
        size = self._distance(schema, "size", self.size)
        step = size if self.step is None else self._distance(schema, "step", self.step)
        return ValueWindow(column, size, step, self.timeout, self.slack)

    def _time(self, schema: Schema, key: str, given: str | None) -> str:
        if given is not None:
            with at("window", key):
                return given if given in dict(schema.times) else schema.find(given)
        if schema.time is None:
            raise GraphError(
                "window without event time: the rows have none.",
                hint="declare `time:` on the stream and keep that column.",
            )
        return schema.time

    def _length(self, key: str, value: Any) -> int:
        with at("window", key):
            return read_duration(value)

    def _count(self, key: str, value: Any) -> int:
        if not isinstance(value, int):
            raise Misplaced(("window", key), GraphError(f"a number of tuples is wanted here, not {shown(value)}."))
        return value

    def _distance(self, schema: Schema, key: str, value: Any) -> int | float:
        with at("window", key):
            return distance(schema, self.values or "", value)


def _short(value: Any) -> Any:
    return {"size": value} if isinstance(value, str) else value


WindowField = Annotated[WindowKeys, BeforeValidator(_short)]
"""A window; a bare length of time is a tumbling one."""


def write_window(window: Window | None, schema: Schema) -> dict[str, Any] | None:
    """The keys of a window over rows of `schema`."""
    match window:
        case None:
            return None
        case TimeWindow():
            return without_defaults(
                size=format_duration(window.size),
                step=format_duration(window.step) if window.step != window.size else None,
                on=window.column if window.column != schema.time else None,
                offset=format_duration(window.offset) if window.offset else None,
            )
        case SessionWindow():
            on = window.column if window.column != schema.time else None
            return without_defaults(session=format_duration(window.gap), on=on)
        case CountedWindow():
            order = window.order if window.order != schema.time else None
            step = window.step if window.step != window.size else None
            return {
                "tuples": window.size,
                **without_defaults(step=step),
                **_closing(window),
                **without_defaults(order=order),
            }
        case ValueWindow():
            size = write_distance(window.size, schema, window.column)
            step = write_distance(window.step, schema, window.column) if window.step != window.size else None
            return {"values": window.column, "size": size, **without_defaults(step=step), **_closing(window)}


def _closing(window: CountedWindow | ValueWindow) -> dict[str, Any]:
    timeout = {} if window.timeout is None else {"timeout": format_duration(window.timeout)}
    return timeout | ({} if window.slack is None else {"slack": window.slack})


def write_distance(length: float, schema: Schema, column: str) -> Any:
    """A distance as it is written: a length of time between times and dates, a number between numbers."""
    kind = schema.type_of(column).name
    if kind == "DATE":
        return f"{length} days"
    return format_duration(int(length)) if kind == "TIMESTAMP" else length

"""Windows and bands as the fluent front end writes them: without knowing the stream, until they are used on one."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tradewind.algebra.operators.core import Band
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import DATE, MICROS
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, Window, require_time
from tradewind.errors import GraphError, InputError
from tradewind.frontends.arguments import iterated, length, optional_length, optional_text, place, text, whole
from tradewind.frontends.build import unit

Bound = str | int | float
_DAY = 86_400 * MICROS


@dataclass(frozen=True, slots=True)
class TimedSpec:
    """A window over a column that is the stream's event time unless it is named."""

    window: TimeWindow | SessionWindow | CountedWindow
    """With an empty name where the event time is meant."""

    def on(self, schema: Schema) -> Window:
        """The window on a stream of that schema."""
        if isinstance(self.window, CountedWindow):
            if not self.window.order and schema.time is None:
                raise GraphError(
                    "tuples are counted in an order, and the stream has no event time.", hint="give order=…"
                )
            return replace(self.window, order=_column(self.window.order, schema))
        return replace(self.window, column=_column(self.window.column, schema))


@dataclass(frozen=True, slots=True)
class ValuesSpec:
    """A window over values whose sizes are lengths of time when the values are times."""

    column: str
    size: Bound
    step: Bound
    timeout: int | None
    slack: int | None

    def on(self, schema: Schema) -> Window:
        """The window on a stream of that schema."""
        column = schema.find(self.column)
        size, step = (distance(schema, column, bound) for bound in (self.size, self.step))
        return ValueWindow(column, size, step, self.timeout, self.slack)


@dataclass(frozen=True, slots=True)
class BandSpec:
    """`low <= right - left <= high`; lengths of time when the columns are times."""

    left: str
    right: str
    low: Bound | None
    high: Bound | None

    def on(self, left: Schema) -> Band:
        """The band of a join whose left side has that schema."""
        low, high = (None if end is None else distance(left, self.left, end) for end in (self.low, self.high))
        return Band(self.left, self.right, low, high)


WindowSpec = TimedSpec | ValuesSpec


@place("tumbling")
def tumbling(size: str, column: str | None = None, offset: str = "0 seconds") -> TimedSpec:
    """Windows of event time side by side, one every `size`; `offset` moves their borders."""
    lasts = length(size)
    return TimedSpec(TimeWindow(_given(column), lasts, lasts, length(offset)))


@place("sliding")
def sliding(size: str, step: str, column: str | None = None, offset: str = "0 seconds") -> TimedSpec:
    """Windows of event time that overlap: one of `size` every `step`."""
    return TimedSpec(TimeWindow(_given(column), length(size), length(step), length(offset)))


@place("session")
def session(gap: str, column: str | None = None) -> TimedSpec:
    """Rows of a group that follow one another by `gap` at most."""
    return TimedSpec(SessionWindow(_given(column), length(gap)))


@place("tuples")
def tuples(
    size: int, step: int | None = None, timeout: str | None = None, slack: int | None = None, order: str | None = None
) -> TimedSpec:
    """Windows of `size` rows, a new one every `step` rows (else side by side).

    Rows are in the order of event time unless another column is named.
    A silence of `timeout` closes those that are open. A row that more than `slack` greater rows overtook is dropped.
    """
    counts = whole(size, "size"), whole(size if step is None else step, "step")
    late = None if slack is None else whole(slack, "slack")
    return TimedSpec(CountedWindow(_given(order), *counts, optional_length(timeout), late))


@place("values")
def values(
    column: str, size: Bound, step: Bound | None = None, timeout: str | None = None, slack: int | None = None
) -> ValuesSpec:
    """Windows over the values of an ordered column: `size` wide, one every `step` (else side by side)."""
    late = None if slack is None else whole(slack, "slack")
    return ValuesSpec(
        text(column, "a column's name"), size, size if step is None else step, optional_length(timeout), late
    )


@place("band")
def band(left: str, right: str, low: Bound | None = None, high: Bound | None = None) -> BandSpec:
    """How far apart two columns of a join may be: `low <= right - left <= high`, open where no bound is given."""
    return BandSpec(text(left, "a column's name"), text(right, "a column's name"), low, high)


def resolved(window: object, schema: Schema) -> Window | None:
    """A window, however it was given, on a stream of that schema."""
    if window is None or isinstance(window, TimeWindow | SessionWindow | CountedWindow | ValueWindow):
        return window
    if isinstance(window, TimedSpec | ValuesSpec):
        return window.on(schema)
    raise InputError(f"{str(window)[:60]!r} is not a window.", hint="window=tw.tumbling('1 minute'), for example.")


def band_of(left: Schema, right: Schema, within: str | tuple[str, str] | None, spec: BandSpec | None) -> Band | None:
    """The band of a join: on the event times (`within`), or on the columns that are named."""
    if within is None:
        if spec is not None and not isinstance(spec, BandSpec):
            raise InputError("a band is made by tw.band(left, right, low=…, high=…).")
        return None if spec is None else spec.on(left)
    if spec is not None:
        raise GraphError(
            "a join has either within or a band.", hint="use one band on the event times, and filter for the rest."
        )
    for schema in (left, right):
        require_time(schema, None, "within")
    if isinstance(within, str):
        return Band(str(left.time), str(right.time), -length(within), length(within))
    ends = [length(end) for end in iterated(within, "a length of time or two")]
    if len(ends) != 2:
        raise InputError("within is a length of time or two.", hint="within='5 minutes' or ('-1 minute', '5 minutes').")
    return Band(str(left.time), str(right.time), *ends)


def distance(schema: Schema, column: str, bound: Bound) -> int | float:
    """A distance between values of a column: a length of time between times, a number between numbers (or of days)."""
    type_ = schema.type_of(column)
    number = isinstance(bound, int | float) and not isinstance(bound, bool)
    if unit(schema, column) == "number" or (type_ == DATE and number):
        if isinstance(bound, str) or not number:
            raise GraphError(f"{column!r} is {type_}: its distances are numbers, not {bound!r}.")
        return bound
    if not isinstance(bound, str):
        raise GraphError(f"{column!r} is {type_}: its distances are lengths of time.", hint="write '5 minutes'.")
    lasts = length(bound)
    if type_ != DATE:
        return lasts
    if lasts % _DAY:
        raise GraphError(f"{column!r} is DATE: {bound!r} is not a number of whole days.")
    return lasts // _DAY


def _given(column: str | None) -> str:
    return optional_text(column, "a column's name") or ""


def _column(name: str, schema: Schema) -> str:
    if name:
        return schema.find(name)
    require_time(schema, None)
    return str(schema.time)

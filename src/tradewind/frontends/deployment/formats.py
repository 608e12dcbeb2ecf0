"""The formats of streams and of deliveries, and their options: which there are, what they may be, and what they are
when nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from tradewind.algebra.times import parse_timestamp
from tradewind.errors import InputError, unknown

EPOCHS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
"""What numbers may count since 1970, in microseconds."""


class Option(NamedTuple):
    """An option: how its value is checked, what it is by itself, and what it means."""

    check: Callable[[Any], Any]
    default: Any
    meaning: str


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InputError(f"{value!r:.60} is not true or false.")


def _count(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise InputError(f"{value!r:.60} is no whole number of 1 or more.")


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    raise InputError(f"{value!r:.60} is no whole number.")


def _rate(value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 1e-6 <= value <= 1e12:
        return value
    raise InputError(f"{value!r:.60} is no rate.", hint="a number above 0.")


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise InputError(f"{value!r:.60} is no text.", hint="put it in quotes.")


def _name(value: Any) -> str:
    if isinstance(value, str) and value and not set(value) & set(" \t\n<>&/\"'="):
        return value
    raise InputError(f"{value!r:.60} is no element's name.")


def _character(value: Any) -> str:
    if isinstance(value, str) and len(value) == 1 and value.isascii() and value not in "\r\n\0":
        return value
    raise InputError(f"{value!r:.60} is not one ASCII character.")


def _character_or_none(value: Any) -> str:
    return "" if value == "" else _character(value)


def _epoch(value: Any) -> str:
    if isinstance(value, str) and value in EPOCHS:
        return value
    raise InputError(f"{value!r:.60} is not known.", hint=f"there is: {', '.join(EPOCHS)}.")


def _time(value: Any) -> int:
    return parse_timestamp(_text(value))


_LIMITS = {
    "max_files_per_batch": Option(_count, None, "so many new files at most in one batch"),
    "max_bytes_per_batch": Option(_count, None, "so many bytes of new files, or one file; 256 MB unless said"),
}
_RECORDS = {
    "max_record_bytes": Option(_count, 100_000_000, "a longer record is bad, and is never held in memory"),
}
_EPOCH = {
    "epoch": Option(_epoch, None, "numbers in TIMESTAMP columns are seconds, milliseconds or microseconds since 1970"),
}
_CONVERTER = {"converter": Option(_text, None, "the converter's name; its own options stand beside it")}
OPTIONS: Mapping[str, Mapping[str, Option]] = {
    "parquet": _LIMITS,
    "orc": _LIMITS,
    "arrow": _LIMITS,
    "json": {**_EPOCH, **_RECORDS, **_LIMITS},
    "csv": {
        "header": Option(_flag, True, "the first line of each file names its columns, in any order"),
        "delimiter": Option(_character, ",", "what stands between fields"),
        "quote": Option(_character, '"', "what stands around a field that holds other signs"),
        "escape": Option(_character_or_none, "", "what stands before a quote inside quotes, if not another"),
        "null_value": Option(_text, "", "a text that is NULL when it is not in quotes, as an empty one is"),
        "multi_line": Option(_flag, False, "a field in quotes may hold line breaks"),
        **_EPOCH,
        **_RECORDS,
        **_LIMITS,
    },
    "xml": {"rowTag": Option(_name, "row", "the element that is a row"), **_EPOCH, **_RECORDS, **_LIMITS},
    "text": {**_CONVERTER, **_RECORDS, **_LIMITS},
    "binary": {**_CONVERTER, **_LIMITS},
    "rate": {
        "rows_per_second": Option(_rate, 1000, "how far apart event times are, and how fast rows come"),
        "rows": Option(_count, None, "so many rows in all, there from the start; without it they come for ever"),
        "seed": Option(_whole, 0, "another seed, other rows"),
        "start": Option(_time, None, "the first event time; unless said, 2026-01-01, or now if rows come for ever"),
        "rows_per_batch": Option(_count, 1_000_000, "so many of `rows` at most in one batch"),
    },
    "push": _LIMITS,
}  # fmt: skip
CONVERTED = ("text", "binary")
PLACELESS = ("rate", "push")
"""Streams that lie in no files."""
DELIVERIES: Mapping[str, frozenset[str]] = {
    "parquet": frozenset({"compression"}),
    "json": frozenset({"compression"}),
    "csv": frozenset({"compression", "header", "delimiter", "sep"}),
    "xml": frozenset({"compression", "rowTag", "rootTag"}),
    "orc": frozenset({"compression"}),
}
"""What answers are written as to files, with the options that each may be given."""
UNWRITTEN: Mapping[str, frozenset[str]] = {
    "console": frozenset(), "memory": frozenset(), "noop": frozenset({"columns"}),
}  # fmt: skip
"""Deliveries that are no files, with what they can be told, all of it true or false."""


class Fault(NamedTuple):
    """What is wrong with a format, or with one of its options: with its value, or already with its name."""

    error: InputError
    option: str | None = None
    by_name: bool = False


def checked(format_: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a source's format with all defaults; an InputError for what there is not, or not so."""
    if format_ is None:
        raise InputError("it has no format, so it can be planned but not run.", hint=f"formats: {', '.join(OPTIONS)}.")
    for fault in source_faults(format_, given):
        raise fault.error
    return _filled(format_, given)


def check_delivery(format_: str, given: Mapping[str, Any]) -> None:
    """Raise an InputError for a delivery that there is not, or that cannot be told this."""
    for fault in delivery_faults(format_, given):
        raise fault.error


def source_faults(format_: str, given: Mapping[str, Any]) -> Iterator[Fault]:
    """All that is wrong with the format of a source and what it is told."""
    if format_ not in OPTIONS:
        yield Fault(unknown("format", format_, OPTIONS))
        return
    known, right = OPTIONS[format_], True
    for name, value in given.items():
        if name in known:
            fault = _fault(known[name], name, value)
        elif format_ in CONVERTED:
            continue  # the converter's own
        else:
            fault = Fault(unknown(f"option of {format_}", name, known), name, by_name=True)
        if fault is not None:
            right = False
            yield fault
    if right:
        yield from map(Fault, _conflicts(format_, _filled(format_, given)))


def delivery_faults(format_: str, given: Mapping[str, Any]) -> Iterator[Fault]:
    """All that is wrong with the format of a delivery and what it is told."""
    if format_ not in DELIVERIES and format_ not in UNWRITTEN:
        yield Fault(unknown("format of a delivery", format_, [*DELIVERIES, *UNWRITTEN]))
        return
    known = DELIVERIES.get(format_) or UNWRITTEN.get(format_, frozenset())
    for name, value in given.items():
        if name not in known:
            yield Fault(unknown(f"option of a {format_} delivery", name, sorted(known)), name, by_name=True)
        elif format_ in UNWRITTEN and not isinstance(value, bool):
            yield Fault(InputError(f"{name} is {value!r}.", hint="say true or false."), name)


def _filled(format_: str, given: Mapping[str, Any]) -> dict[str, Any]:
    known = OPTIONS[format_]
    defaults = {name: option.default for name, option in known.items()}
    return {**defaults, **{name: known[name].check(value) if name in known else value for name, value in given.items()}}


def _fault(option: Option, name: str, value: Any) -> Fault | None:
    try:
        option.check(value)
    except InputError as error:
        hint = error.hint or f"{name}: {option.meaning}."
        return Fault(InputError(error.what, where=f"option {name}", hint=hint), name)
    return None


def _conflicts(format_: str, found: Mapping[str, Any]) -> Iterator[InputError]:
    if found.get("max_files_per_batch") is not None and found.get("max_bytes_per_batch") is not None:
        yield InputError("only one of max_files_per_batch and max_bytes_per_batch can be said.")
    if format_ in CONVERTED and found["converter"] is None:
        yield InputError(f"a {format_} source needs a converter.", hint="options: {converter: key_value}.")
    if format_ == "csv" and len({found["delimiter"], found["quote"], found["escape"]}) < 3:
        yield InputError("delimiter, quote and escape are three different characters.")

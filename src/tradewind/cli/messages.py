"""Messages of commands that run for long: for people, or as JSON for whoever gathers them."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from tradewind.errors import InputError, TradewindError

if TYPE_CHECKING:
    from tradewind.runtime.saying import Level, Say

FAILED, BAD_INPUT = 1, 2
"""Exit codes."""

JsonLogs = Annotated[bool, typer.Option("--json-logs", help="Messages as JSON, one a line.")]

_writing = threading.Lock()


def plain_typer(**settings: Any) -> typer.Typer:
    """Commands whose help and errors are plain text."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **settings)


@contextmanager
def speaking(component: str, *, as_json: bool) -> Iterator[Say]:
    """A way to say things on stderr. As JSON, everything is said that way: what libraries have to say, and the error by
    which it ends.
    """
    # What it says only when something is wrong is left to it.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    if not as_json:
        yield _to_people
        return
    # Another way to the same place: while Spark starts, what goes to stderr itself goes to Spark's log.
    stream = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8")
    say = _to_machines(component, stream)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines(component))
    # What fails in a batch is told by whoever waits for it; the way there keeps it to itself.
    handler.addFilter(lambda record: not record.name.startswith("py4j"))
    logging.getLogger().addHandler(handler)
    try:
        yield say
    except (TradewindError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise  # whoever read this has seen enough
        say(str(error), level="error")
        raise typer.Exit(BAD_INPUT if isinstance(error, InputError) else FAILED) from None
    finally:
        logging.getLogger().removeHandler(handler)
        stream.close()


def line(time: datetime, level: str, component: str, message: str, **fields: object) -> str:
    """A message as an object on one line.

    >>> line(datetime(2026, 1, 2, tzinfo=UTC), "info", "ams", "epoch 3", epoch=3)
    '{"time": "2026-01-02T00:00:00.000+00:00", "level": "info", "component": "ams", "message": "epoch 3", "epoch": 3}'
    """
    said = {"time": time.isoformat(timespec="milliseconds"), "level": level, "component": component}
    return json.dumps({**said, "message": message, **fields}, default=str)


def _to_people(text: str, *, level: Level = "info", **fields: object) -> None:
    typer.echo(text, err=True)


def _to_machines(component: str, stream: TextIO) -> Say:
    def say(text: str, *, level: Level = "info", **fields: object) -> None:
        # One write for each line, one after the other: several threads speak.
        with _writing:
            stream.write(line(datetime.now(UTC), level, component, text, **fields) + "\n")
            stream.flush()

    return say


class _Lines(logging.Formatter):
    def __init__(self, component: str) -> None:
        super().__init__()
        self._component = component

    def format(self, record: logging.LogRecord) -> str:
        fields = {"logger": record.name}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        time = datetime.fromtimestamp(record.created, UTC)
        return line(time, record.levelname.lower(), self._component, record.getMessage(), **fields)

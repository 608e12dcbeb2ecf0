"""Messages of commands that run for long: for people, or as JSON for whoever gathers them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import typer


def speaker(who: str, *, as_json: bool) -> Callable[[str], None]:
    """Says things on stderr."""

    def say(text: str) -> None:
        if as_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            sys.stderr.write(json.dumps({"time": now, "who": who, "message": text}) + "\n")
            sys.stderr.flush()
        else:
            typer.echo(text, err=True)

    return say

"""Messages of commands that run for long: for people, or as JSON for whoever gathers them."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime

import typer


def speaker(who: str, *, as_json: bool) -> Callable[[str], None]:
    """Says things on stderr. What libraries have to say only when something is wrong is left to them."""
    logging.getLogger("asyncio").setLevel(logging.ERROR)

    def say(text: str) -> None:
        if as_json:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            sys.stderr.write(json.dumps({"time": now, "who": who, "message": text}) + "\n")
            sys.stderr.flush()
        else:
            typer.echo(text, err=True)

    return say

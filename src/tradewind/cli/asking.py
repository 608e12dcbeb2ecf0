"""Questions before something is done that cannot be undone."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tradewind.errors import InputError

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


def agreed(question: str, *, as_json: bool, hint: str) -> bool:
    """Whether whoever sits at the terminal agrees; refused where nobody does, or where output is for programs."""
    if as_json or not sys.stdin.isatty():
        raise InputError("nobody can be asked.", hint=hint)
    return typer.confirm(question)

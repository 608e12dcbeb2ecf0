"""Answers as JSON, and what may not be in any of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from tradewind.errors import TradewindError


def answer(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer that holds data as JSON."""
    return Response(json_text(data), status, headers, "application/json")


def json_text(data: Any) -> str:
    """Data as one line of JSON in ASCII, in which no letter can be mistaken or break a line.

    >>> json_text({"é": [1.5, float("nan")]})
    '{"\\\\u00e9":[1.5,"nan"]}'
    """
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_sayable(data), allow_nan=False, separators=(",", ":"))


def _sayable(data: Any) -> Any:
    """Numbers that JSON cannot say become text, as in results on the command line."""
    if isinstance(data, Mapping):
        return {key: _sayable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_sayable(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def told(error: TradewindError, scope: Scope) -> dict[str, str | None]:
    """An error as an asker reads it."""
    parts = {"what": error.what, "where": error.where, "hint": error.hint}
    return {name: None if text is None else concealed(text, scope) for name, text in parts.items()}


def keep_private(connection: HTTPConnection, text: str) -> None:
    """From now on, a text that came with a request is left out of every error and line of the log about it."""
    connection.state.private = text


def concealed(text: str, scope: Scope) -> str:
    """A text without what must stay private: others' errors may quote what they were given."""
    private = (scope["app"].state.secret, scope.get("state", {}).get("private"))
    for secret in filter(None, private):
        text = text.replace(secret, "…")
    return text

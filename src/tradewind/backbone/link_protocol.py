"""What sites say to each other over a link: short questions in JSON, and answers of a line of JSON and some bytes.

Whatever comes over a link is data of somebody else's: it is looked at piece by piece, and never believed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tradewind.backbone.names import token

# How long, in seconds, a question for commits is held until there are some.
HOLD = 5.0
# How many bytes of a message one answer holds. A slow link is not to be busy with one answer for long.
SLICE = 128 << 10
# No question is longer.
_QUESTION = 4096
_MOST = 1 << 62


class BadQuestionError(Exception):
    """A question that makes no sense, or asks for what its sender is not given."""


class BadAnswerError(Exception):
    """An answer that makes no sense."""


class Answer(NamedTuple):
    """A few values by name, and bytes."""

    head: Mapping[str, Any]
    body: bytes = b""

    def encoded(self) -> bytes:
        """The payload of a message."""
        return json.dumps(self.head, separators=(",", ":")).encode() + b"\n" + self.body

    def number(self, key: str) -> int:
        """A number that is not negative."""
        value = self.head.get(key)
        if value is None or not is_number(value):
            raise BadAnswerError(f"there is no number {key!r}")
        return int(value)


def subject(site: str, verb: str) -> str:
    """Where a site is asked."""
    return f"tw.link.{token(site)}.{verb}"


def question(values: Mapping[str, Any]) -> bytes:
    """The payload of a question."""
    return json.dumps(values, separators=(",", ":")).encode()


def read_question(payload: bytes) -> dict[str, Any]:
    """The values of a question."""
    if len(payload) > _QUESTION:
        raise BadQuestionError("it is too long")
    found = _parsed(payload)
    if found is None:
        raise BadQuestionError("it is no JSON object")
    return found


def read_answer(payload: bytes) -> Answer:
    """The parts of an answer."""
    line, _, body = payload.partition(b"\n")
    head = _parsed(line)
    if head is None:
        raise BadAnswerError("it does not begin with a line of JSON")
    return Answer(head, body)


def is_number(value: object) -> bool:
    """Whether it can be the number of a message: JSON knows others, and true and false are numbers to Python.

    >>> is_number(3), is_number(-1), is_number(True), is_number(10**40)
    (True, False, False, False)
    """
    return type(value) is int and 0 <= value < _MOST


def _parsed(payload: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None

"""Questions that a coordinator asks a site: the rows of an answer, or to take rows in.

They go to a subject that nobody else may listen to, and the answers come back as the site's reports do.
"""

from __future__ import annotations

import json
import queue
import secrets
from collections.abc import Callable
from typing import Any

from tradewind.backbone.names import token
from tradewind.errors import InputError, RunError, TradewindError

_LONGEST = 6_000_000
"""Bytes of an answer."""


def order_subject(site: str) -> str:
    """Where a site is asked."""
    return f"tw.order.{token(site)}"


def answer_subject(site: str) -> str:
    """Where it answers."""
    return f"tw.report.{token(site)}.answer"


class Questions:
    """The coordinator's side: questions that wait for answers. From any thread."""

    def __init__(self, publish: Callable[[str, bytes], None]) -> None:
        self._publish = publish
        self._waiting: dict[tuple[str, str], queue.SimpleQueue[dict[str, Any]]] = {}

    def ask(self, site: str, question: dict[str, Any], patience: float = 20.0) -> Any:
        """What a site answers; what it refuses is raised as it would be here."""
        key = site, secrets.token_hex(8)
        answers = self._waiting[key] = queue.SimpleQueue()
        try:
            self._publish(order_subject(site), json.dumps({**question, "key": key[1]}).encode())
            answer = answers.get(timeout=patience)
        except queue.Empty:
            raise RunError(
                f"site {site!r} does not answer.", hint="tradewind status shows whether it is there."
            ) from None
        finally:
            del self._waiting[key]
        if "refused" in answer:
            told = answer["refused"]
            kind = InputError if told.get("input") else RunError
            raise kind(str(told.get("what")), where=told.get("where"), hint=told.get("hint"))
        return answer.get("answer")

    def tell(self, site: str, order: dict[str, Any]) -> None:
        """Tell a site what to do; nobody waits for its answer."""
        self._publish(order_subject(site), json.dumps({**order, "key": ""}).encode())

    def answered(self, site: str, payload: bytes) -> None:
        """An answer has come; one that nobody waits for is passed over."""
        try:
            answer = json.loads(payload)
            waiting = self._waiting.get((site, str(answer["key"])))
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        if waiting is not None and isinstance(answer, dict):
            waiting.put(answer)


def obeyed(payload: bytes, done: Callable[[dict[str, Any]], Any]) -> bytes:
    """The site's side: what it answers to a question."""
    try:
        question = json.loads(payload)
        key = str(question["key"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return b"{}"
    try:
        answer = json.dumps({"key": key, "answer": done(question)}).encode()
        if len(answer) > _LONGEST:
            raise InputError("the answer is too long to be sent.", hint="ask for fewer rows.")
    except TradewindError as error:
        refused = {
            "what": error.what, "where": error.where, "hint": error.hint, "input": isinstance(error, InputError)
        }  # fmt: skip
        return json.dumps({"key": key, "refused": refused}).encode()
    except Exception as error:  # noqa: BLE001 - whoever asks for what makes no sense must not silence the site
        refused = {"what": f"this cannot be answered: {type(error).__name__}.", "where": None, "hint": None}
        return json.dumps({"key": key, "refused": refused}).encode()
    return answer

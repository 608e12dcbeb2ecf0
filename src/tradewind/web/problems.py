"""Errors as answers: each kind has its status, and none tells more than what, where and a hint."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from tradewind.errors import DeploymentError, InputError, RunError, TradewindError, UnknownNameError
from tradewind.web.answers import answer, concealed, told
from tradewind.web.desk import UnavailableError
from tradewind.web.shapes import FailureShape, ProblemsShape, RefusalShape

# A name that a text holds is unknown in that text; any other is the name of what was asked for.
_TEXTS = frozenset({"/v1/check", "/v1/difference", "/v1/apply", "/v1/queries"})
_MEANINGS = {
    400: "what was sent cannot be used",
    401: "the secret is missing or wrong",
    403: "a page of another site asks",
    404: "there is no such thing",
    408: "the body came too slowly",
    409: "it cannot be done as things stand",
    413: "the body is too long",
    421: "another host is meant",
    429: "too many failures: wait",
    503: "not now: try again",
}
DESCRIBED: dict[int | str, dict[str, object]] = {
    **{status: {"model": RefusalShape, "description": meaning} for status, meaning in _MEANINGS.items()},
    422: {"model": ProblemsShape, "description": "the file or the request has problems"},
    500: {"model": FailureShape, "description": "a bug; the log has more under its number"},
}


def install(app: FastAPI) -> None:
    """Makes answers of all errors that are not bugs; the guard makes answers of those."""
    app.add_exception_handler(TradewindError, _raised)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _not_served)


async def _raised(request: Request, error: Exception) -> Response:
    match error:
        case DeploymentError():
            words = told(error, request.scope)
            return answer({**words, "problems": list(_problems(error, request))}, 422)
        case UnknownNameError():
            return answer(told(error, request.scope), 400 if request.url.path in _TEXTS else 404)
        case InputError():
            return answer(told(error, request.scope), 400)
        case UnavailableError():
            return answer(told(error, request.scope), 503, {"Retry-After": "2"})
        case RunError():
            return answer(told(error, request.scope), 409)
    raise error


def _problems(error: DeploymentError, request: Request) -> Iterable[dict[str, object]]:
    for one in error.problems:
        words = {name: text and concealed(text, request.scope) for name, text in (
            ("where", one.where), ("what", one.what), ("hint", one.hint))}  # fmt: skip
        yield {**words, "line": one.line, "column": one.column}


async def _malformed(request: Request, error: Exception) -> Response:
    """What is wrong in a request, without repeating it: it may hold what must stay private."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    problems = [
        {"where": concealed(".".join(map(str, one["loc"]))[:200], request.scope), "what": one["msg"], "hint": None}
        for one in found[:100]
    ]
    return answer({"what": "the request is not as described.", "problems": problems}, 422)


async def _not_served(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    hint = "see /v1/openapi.json." if error.status_code in (404, 405) else None
    words = {"what": str(error.detail).lower(), "where": None, "hint": hint}
    return answer(words, error.status_code, error.headers)

"""The guard at the door: whom it lets in, and what it says to those it does not.

Everything passes it, also what no route is for, so that a route cannot be left open by forgetting something; what is
public of a coordinator is listed here, and of a site nothing is.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import re
import secrets
import traceback
from collections.abc import Awaitable, Callable, Collection
from ipaddress import IPv6Address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tradewind.web.answers import answer, concealed, told
from tradewind.web.bodies import read
from tradewind.web.failures import Failures
from tradewind.web.headers import with_headers
from tradewind.web.page import FILES
from tradewind.web.refusals import RefusedError

_log = logging.getLogger(__name__)
_JOIN = "/v1/join"
PUBLIC = frozenset({("POST", _JOIN), ("GET", "/v1/ca"), *(("GET", path) for path in FILES)})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_LONGEST, _LONGEST_JOIN = 2_000_000, 64_000
_SLOWED, _MOST_SLOWED = 1.0, 256
"""Seconds that a guess too many waits for its answer, and how many wait at a time."""
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\s:\[\]/@]+)(?::\d{1,5})?")


class Guard:
    """Lets in who names the right host, comes from no foreign page and has the secret; bounds what they send."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        secret: str,
        hosts: Collection[str],
        clock: Callable[[], float],
        public: Collection[tuple[str, str]],
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._app = app
        self._public = frozenset(public)
        self._secret = secret.encode()
        self._hosts = frozenset(map(_bracketed, hosts))
        # Apart, so that nobody can shut out those who have the secret by failing to join.
        self._guesses = Failures(clock)
        self._joins = Failures(clock)
        self._pause = pause
        self._slowed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            visit = _Visit(scope, send)
            await self._let_in(visit, scope, receive)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)

    async def _let_in(self, visit: _Visit, scope: Scope, receive: Receive) -> None:
        try:
            await self._check(visit, scope)
            if visit.method not in _SAFE:
                most = _LONGEST_JOIN if visit.path == _JOIN else _LONGEST
                receive = await read(visit.headers, receive, most)
            await self._app(scope, receive, visit.send)
        except RefusedError as refused:
            refusal = answer(told(refused, scope), refused.status, refused.headers)
            await refusal(scope, receive, visit.send)
        except Exception:  # noqa: BLE001  whatever it is, the asker learns its number and the log the rest
            await self._tell_failure(visit, scope, receive)
        if self._is_join(visit) and 400 <= visit.status < 500 and visit.status != 429:
            _log.warning("a site at %s failed to join", visit.address)
            self._joins.note(visit.address)

    async def _check(self, visit: _Visit, scope: Scope) -> None:
        host = visit.headers.getlist("host")
        if len(host) != 1 or not self._is_ours(host[0]):
            raise RefusedError(
                status=421, what="this is not the host that is asked for.", hint="ask it by a name that it serves."
            )
        if visit.method not in _SAFE and _is_foreign(visit.headers, f"{scope['scheme']}://{host[0]}"):
            raise RefusedError(status=403, what="a page of another site may not change anything here.")
        if (visit.method, visit.path) not in self._public:
            await self._check_secret(visit)
        elif visit.path == _JOIN:
            _check_patience(self._joins, visit.address)

    def _is_join(self, visit: _Visit) -> bool:
        return (visit.method, visit.path) == ("POST", _JOIN) and ("POST", _JOIN) in self._public

    def _is_ours(self, host: str) -> bool:
        found = _HOST.fullmatch(host.lower())
        return found is not None and not self._hosts.isdisjoint({found["name"], found.string})

    async def _check_secret(self, visit: _Visit) -> None:
        given = visit.headers.getlist("authorization")
        scheme, _, secret = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            raise _unknown("the secret is missing.", 'Bearer realm="tradewind"')
        # Whoever has the secret gets in, whatever others at the same address have tried: guesses never lock them out.
        if not hmac.compare_digest(secret.strip().encode("latin-1"), self._secret):
            if self._guesses.wait(visit.address) > 0:
                await self._slowly()
            _check_patience(self._guesses, visit.address)
            _log.warning("a wrong secret from %s", visit.address)
            self._guesses.note(visit.address)
            raise _unknown("the secret is wrong.", 'Bearer realm="tradewind", error="invalid_token"')

    async def _slowly(self) -> None:
        """Keep who guesses too often waiting for an answer; not more of them at a time than cost little."""
        if self._slowed >= _MOST_SLOWED:
            return
        self._slowed += 1
        try:
            await self._pause(_SLOWED)
        finally:
            self._slowed -= 1

    async def _tell_failure(self, visit: _Visit, scope: Scope, receive: Receive) -> None:
        number = secrets.token_hex(8)
        said = concealed(f"{visit.method} {visit.path!a}\n{traceback.format_exc()}", scope)
        _log.error("internal error %s at %s", number, said)
        # An answer that has begun is left unfinished, which breaks the connection: nobody takes it for the whole.
        if not visit.status:
            failure = answer({"what": "internal error", "id": number}, 500)
            await failure(scope, receive, visit.send)


class _Visit:
    """A request at the door, and what became of it: `status` is 0 until an answer has begun."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.headers = Headers(scope=scope)
        self.address: str = (scope.get("client") or ("",))[0]
        self.status = 0
        self._send = with_headers(send, self.path)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _is_foreign(headers: Headers, own: str) -> bool:
    """Whether a browser says that another site's page asks."""
    sites = set(headers.getlist("sec-fetch-site"))
    origins = {origin.lower() for origin in headers.getlist("origin")}
    return not (sites <= {"same-origin", "none"} and origins <= {own.lower()})


def _check_patience(failures: Failures, address: str) -> None:
    wait = failures.wait(address)
    if wait > 0:
        seconds = math.ceil(wait)
        raise RefusedError(
            status=429,
            what="too many failures from this address.",
            hint=f"try again in {seconds} seconds.",
            headers={"Retry-After": str(seconds)},
        )


def _unknown(what: str, challenge: str) -> RefusedError:
    hint = "send the secret of whom you ask as `Authorization: Bearer …`."
    return RefusedError(status=401, what=what, hint=hint, headers={"WWW-Authenticate": challenge})


def _bracketed(host: str) -> str:
    """A host as it stands in a Host header: IPv6 addresses in brackets."""
    try:
        return f"[{IPv6Address(host)}]"
    except ValueError:
        return host.lower()

"""JetStream's requests as this room uses them: store, get by number or subject, and the calls that manage streams."""

from __future__ import annotations

import json
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple, TypeVar

from nats.aio.msg import Msg

from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.session import LateError, NoRoomError, UnansweredError
from tradewind.errors import RunError

_T = TypeVar("_T")

# How many messages one request gets at most.
_MANY = 256

_STREAM_MISSING = 10059
_WRONG_LAST = frozenset({10071, 10164})
_STORE_FAILED = 10077
# Codes by which a server says that its disk, or what it may use of it, is at its end.
_NO_SPACE = frozenset({10002, 10023, 10028, 10047, _STORE_FAILED})


class RefusedError(Exception):
    """The server understood, and said no."""

    def __init__(self, code: int, description: str) -> None:
        self.code = code
        self.description = description
        super().__init__(f"{description} ({code})")

    @property
    def full(self) -> bool:
        """The stream has reached the size that it was given."""
        return self.code == _STORE_FAILED and "maximum bytes" in self.description

    @property
    def no_space(self) -> bool:
        """The server has no room, whatever the stream."""
        return self.code in _NO_SPACE and not self.full

    @property
    def missing(self) -> bool:
        """There is no such stream."""
        return self.code == _STREAM_MISSING

    @property
    def wrong_last(self) -> bool:
        """Somebody else has written since."""
        return self.code in _WRONG_LAST


class Stored(NamedTuple):
    """A message in a stream."""

    number: int
    subject: str
    payload: bytes
    headers: Mapping[str, str]


async def managed(connection: Connection, verb: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the server answers to a call that manages streams; tried again while it is away."""

    async def attempt() -> dict[str, Any]:
        answer = await connection.request(f"$JS.API.{verb}", json.dumps(body).encode() if body else b"")
        return _accepted(answer)

    return await connection.patiently(attempt, verb.partition(".")[0].lower())


async def stored(connection: Connection, stream: str, subject: str, payload: bytes, headers: Mapping[str, str]) -> int:
    """Stores a message durably, and tells its number; one attempt. Refused when the stream is full."""
    try:
        answer = await connection.request(subject, payload, {**headers, "Nats-Expected-Stream": stream})
    except UnansweredError:
        await check(connection, stream)
        raise
    except LateError:
        # A server whose disk is full answers everything but this.
        await connection.request(f"$JS.API.STREAM.INFO.{stream}")
        raise NoRoomError("it answers, but does not store") from None
    try:
        return int(_accepted(answer)["seq"])
    except RefusedError as refused:
        if refused.no_space:
            raise NoRoomError(str(refused)) from None
        raise


async def last(connection: Connection, stream: str, subject: str) -> Stored | None:
    """The newest message of a subject."""
    return await _got(connection, stream, f".{subject}", None)


async def at(connection: Connection, stream: str, number: int) -> Stored | None:
    """The message of that number, if it is there."""
    return await _got(connection, stream, "", {"seq": number})


async def following(
    connection: Connection, stream: str, subject: str, after: int, *, limit: int | None = None, upto: int | None = None
) -> list[Stored]:
    """The messages of a subject behind a number, up to and with another, in order."""
    found: list[Stored] = []
    while limit is None or len(found) < limit:
        batch = _MANY if limit is None else min(_MANY, limit - len(found))
        more = await _next(connection, stream, subject, after, batch)
        found += [message for message in more if upto is None or message.number <= upto]
        if len(more) < batch or (upto is not None and more[-1].number >= upto):
            break
        after = more[-1].number
    return found


async def check(connection: Connection, stream: str) -> dict[str, Any]:
    """What the server knows about a stream; refused if there is none."""
    return await managed(connection, f"STREAM.INFO.{stream}")


async def _next(connection: Connection, stream: str, subject: str, after: int, batch: int) -> list[Stored]:
    body = json.dumps({"next_by_subj": subject, "seq": after + 1, "batch": batch}).encode()

    async def attempt() -> list[Stored]:
        try:
            answers = await connection.requests(f"$JS.API.DIRECT.GET.{stream}", body, None, ended=_is_status)
        except UnansweredError:
            await check(connection, stream)
            raise
        if _status(answers[-1]) not in {"204", "404"}:
            raise _refused(answers[-1])
        return [_lifted(message) for message in answers[:-1]]

    return await connection.patiently(attempt, "reading")


async def _got(connection: Connection, stream: str, suffix: str, body: Mapping[str, Any] | None) -> Stored | None:
    async def attempt() -> Stored | None:
        try:
            answer = await connection.request(
                f"$JS.API.DIRECT.GET.{stream}{suffix}", json.dumps(body).encode() if body else b""
            )
        except UnansweredError:
            await check(connection, stream)
            raise
        if _status(answer) == "404":
            return None
        if _is_status(answer):
            raise _refused(answer)
        return _lifted(answer)

    return await connection.patiently(attempt, "reading")


def _lifted(message: Msg) -> Stored:
    headers = message.headers or {}
    return Stored(int(headers["Nats-Sequence"]), headers["Nats-Subject"], bytes(message.data), headers)


def _status(message: Msg) -> str | None:
    return message.headers.get("Status") if message.headers and not message.data else None


def _is_status(message: Msg) -> bool:
    return _status(message) is not None


def _refused(message: Msg) -> RefusedError:
    headers = message.headers or {}
    return RefusedError(int(headers.get("Status", "0")), headers.get("Description", "no reason is given"))


def _accepted(answer: Msg) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(answer.data)
    if "error" in data:
        error = data["error"]
        raise RefusedError(int(error.get("err_code", error.get("code", 0))), str(error.get("description", "")))
    return data


def place(address: Address) -> str:
    """How errors name a channel."""
    return f"channel {address.channel!r} at {address.site}"


def called(connection: Connection, address: Address, coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine; what the server refuses becomes an error that names the channel."""
    try:
        return connection.call(coroutine)
    except RefusedError as refused:
        raise told(refused, place(address)) from None


def told(refused: RefusedError, where: str) -> RunError:
    """A refusal as an error for the user."""
    if refused.missing:
        return RunError(
            "its stream is not there any more: it was deleted from outside.",
            where=where,
            hint="what it held is lost to those who had not read it; --fresh starts anew.",
        )
    if refused.no_space:
        return RunError(
            f"the backbone server has no room for it: {refused}.",
            where=where,
            hint="free disk space where the run keeps its files, or allow the server more.",
        )
    return RunError(f"the backbone server refused: {refused}.", where=where)

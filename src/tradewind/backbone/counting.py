"""What crosses a link, counted in bytes as NATS sends them: the whole frame of each message, not its payload alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

# The subject that an acknowledgement is sent to, an inbox and a number, and the number of its subscription.
_REPLY, _SUBSCRIPTION = 36, 1
# How much a new measurement of the round trip counts.
_WEIGHT = 1 / 8


@dataclass(frozen=True, slots=True)
class Counted:
    """What has crossed a link in one direction, through all restarts, and how it stands now.

    `bytes` and `messages` are what left, once more for what was lost in a cut and left again. `rows` and `batches` are
    what became visible at the end. `control_bytes` are the acknowledgements that came back. The backlog is what is
    committed at the start, but not yet at the end; its bytes are those of parts, and an estimate beyond a thousand
    batches. `cut_since` is in seconds after the start of the run, None if the link is not cut. `reached` is false while
    the site at the start, on another machine, does not answer.
    """

    bytes: int = 0
    rows: int = 0
    messages: int = 0
    batches: int = 0
    control_bytes: int = 0
    backlog_batches: int = 0
    backlog_bytes: int = 0
    round_trip_ms: float | None = None
    cut_since: float | None = None
    reached: bool = True

    @property
    def cut(self) -> bool:
        """Whether nothing passes now."""
        return self.cut_since is not None


@dataclass(slots=True)
class Tally:
    """The running totals of a link in one direction."""

    bytes: int = 0
    rows: int = 0
    messages: int = 0
    batches: int = 0
    control_bytes: int = 0
    round_trip_ms: float | None = None

    @staticmethod
    def restored(data: Mapping[str, float | None]) -> Tally:
        """The totals that `kept` gave."""
        return Tally(**data)  # type: ignore[arg-type]  # what `kept` gave, by way of JSON

    def kept(self) -> dict[str, float | None]:
        """The totals, to be stored."""
        return asdict(self)

    def left(self, size: int) -> None:
        """A message has left."""
        self.bytes += size
        self.messages += 1

    def acknowledged(self, size: int, seconds: float) -> None:
        """An acknowledgement has come back, so many seconds after its message left."""
        self.control_bytes += size
        last = seconds * 1000 if self.round_trip_ms is None else self.round_trip_ms
        self.round_trip_ms = last + _WEIGHT * (seconds * 1000 - last)

    def copied(self, rows: int) -> None:
        """A batch has become visible at the end."""
        self.rows += rows
        self.batches += 1


def frame(subject: str, headers: Mapping[str, str], payload: int) -> int:
    """The bytes of a message that wants an acknowledgement, with a payload of so many.

    >>> frame("a.b", {"crc": "00000000"}, 100)
    183
    """
    head = len("NATS/1.0\r\n\r\n") + sum(len(f"{key}: {value}\r\n".encode()) for key, value in headers.items())
    return len(f"HPUB {subject}  {head} {head + payload}\r\n") + _REPLY + head + payload + len("\r\n")


def acknowledgement(stream: str, number: int) -> int:
    """The bytes of the message by which a server tells the number of what it stored."""
    payload = len(f'{{"stream":"{stream}","seq":{number}}}')
    return len(f"MSG   {payload}\r\n") + _REPLY + _SUBSCRIPTION + payload + len("\r\n")

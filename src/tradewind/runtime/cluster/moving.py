"""A fragment on its way to another site, as it stands in what is wanted.

A move is *preparing* while what the fragment reads is let come to its new site as well, and the fragment goes on;
*handing* while it stands still and its state is sent; *taking* while it is begun at the new site. Up to then it can be
undone; from then on it goes forward only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Phase = Literal["preparing", "handing", "taking"]


@dataclass(frozen=True, slots=True)
class Parcel:
    """The state of a fragment as it is sent: its SHA-256, its bytes, how many pieces it comes in, and how many bytes
    are remembered by it.
    """

    digest: str
    size: int
    pieces: int
    state_bytes: int = 0

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Parcel:
        """What was written, checked anew; a `TypeError` when it cannot be."""
        numbers = (_number(data[key]) for key in ("size", "pieces", "state_bytes"))
        return Parcel(_word(data["digest"]), *numbers)


@dataclass(frozen=True, slots=True)
class Move:
    """A move under way. Its term is a number that no other move of the deployment has, and that only grows."""

    term: int
    fragment: str
    """What the fragment is called where it was; names of fragments tell their sites."""
    arrives_as: str
    source: str
    target: str
    links: tuple[tuple[str, str], ...] = ()
    """The pairs of sites between which something flows before or after it: they stay joined until it is over."""
    phase: Phase = "preparing"
    parcel: Parcel | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Move:
        """What was written, checked anew; a `TypeError` or a `ValueError` when it cannot be."""
        phase, parcel = data["phase"], data["parcel"]
        if phase not in get_args(Phase):
            raise ValueError(f"{str(phase)[:60]!r} is no phase of a move")
        return Move(
            _number(data["term"]),
            _word(data["fragment"]),
            _word(data["arrives_as"]),
            _word(data["source"]),
            _word(data["target"]),
            tuple((_word(one), _word(two)) for one, two in data["links"]),
            phase,
            None if parcel is None else Parcel.from_json(parcel),
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """A move that is over, and what it took.

    The fragment was handed over in `handover_seconds`, unless nobody was there to measure it: from when it stood still
    until it was begun. `pause_seconds` are those between the end of its last batch at the one site and that of the
    first at the other, where there was one soon enough. `state_bytes` is what it remembered, `bytes` what was sent.
    """

    term: int
    fragment: str
    arrives_as: str
    source: str
    target: str
    after: int
    """How many texts of queries had been added by then."""
    preparing_seconds: float = 0.0
    handover_seconds: float | None = None
    pause_seconds: float | None = None
    state_bytes: int = 0
    bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Moved:
        """What was written, checked anew; a `TypeError` or a `ValueError` when it cannot be."""
        return Moved(
            _number(data["term"]),
            _word(data["fragment"]),
            _word(data["arrives_as"]),
            _word(data["source"]),
            _word(data["target"]),
            _number(data["after"]),
            float(data["preparing_seconds"]),
            _seconds(data["handover_seconds"]),
            _seconds(data["pause_seconds"]),
            _number(data["state_bytes"]),
            _number(data["bytes"]),
        )


def _word(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 300:
        raise TypeError(f"{str(value)[:60]!r} is no name")
    return value


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{str(value)[:60]!r} is no whole number")
    return value

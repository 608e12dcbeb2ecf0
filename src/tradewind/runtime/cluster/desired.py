"""What a coordinator wants to run: one signed document, which says all that sites need to know.

A document carries an epoch that only grows: a site never goes back to an older one, whoever sends it. Of a deployment
that was begun anew, so that nothing of its state is of use, the generation grows too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tradewind.errors import GraphError, InputError
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.written import from_data, to_data
from tradewind.frontends.deployment.check import load, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.moving import Move, Moved
from tradewind.runtime.cluster.recutting import Recut, Split
from tradewind.runtime.cluster.saving import Restoring, Saving
from tradewind.runtime.cluster.workers import with_workers
from tradewind.runtime.cluster.written import (
    account_from_json,
    account_to_json,
    expectations_from_json,
    expectations_to_json,
)
from tradewind.runtime.expected import Account, Expectations
from tradewind.trust.signing import verify

_FORMAT = 3
BUCKET, KEY = "desired", "current"


@dataclass(frozen=True, slots=True)
class Flow:
    """What is expected on a link: bytes a second as planned, and if everything were shipped, and its price."""

    start: str
    end: str
    planned: float
    shipped: float
    usd_per_gb: float


@dataclass(frozen=True, slots=True)
class Added:
    """Queries that came later, as a text, and the channels that they could choose from when they were planned: whoever
    plans them again has to choose as was chosen then.
    """

    text: str
    channels: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """A deployment that is to run."""

    name: str
    generation: int
    text: str
    called: str
    deployed: Deployed
    intervals: Mapping[str, float]
    """Seconds between two batches of each fragment."""
    horizons: Mapping[str, int | None]
    """How late rows may come to each fragment, in microseconds; None is for ever."""
    added: tuple[Added, ...] = ()
    """Queries that came later."""
    removed: tuple[str, ...] = ()
    """Queries whose answers are not wanted any more."""
    planner: str | None = None
    until_done: bool = False
    fresh: bool = False
    """Whether what earlier deployments delivered to the same places is removed."""
    recomputed: tuple[str, ...] = ()
    """Queries that are worked out from the beginning in place of what they were: what was delivered of them is removed
    when that begins.
    """
    paused: bool = False
    """Whether all of it stands still; state and positions are kept."""
    saving: Saving | None = None
    """The savepoint that is being taken of it."""
    restores: Restoring | None = None
    """The savepoint that it starts from."""
    imitate: bool = False
    flows: tuple[Flow, ...] = ()
    expected: Expectations = field(default_factory=Expectations)
    """What was planned for each channel and answer."""
    account: Account = field(default_factory=Account)
    """What was expected of links before it was changed."""
    move: Move | None = None
    """The fragment that is on its way to another site."""
    moved: tuple[Moved, ...] = ()
    """Those that have moved."""
    term: int = 0
    """That of the last move, whatever became of it."""
    terms: Mapping[str, int] = field(default_factory=dict)
    """The terms of the moves by which fragments came to where they are."""
    recut: Recut | None = None
    """The fragment that is being split, or made one again."""
    splits: tuple[Split, ...] = ()
    """Those that are split."""

    def declared(self, base: Path) -> Deployment:
        """All that its texts declare, and the workers that take part; paths are relative to a folder."""
        name = str(base / self.called)
        texts = [one.text for one in self.added]
        found = load_more(self.text, texts[:-1], texts[-1], name, "queries") if texts else load(self.text, name)
        return with_workers(found, self.places)

    @property
    def places(self) -> list[str]:
        """Where something is done, or is about to be."""
        moving = () if self.move is None else (self.move.source, self.move.target)
        return [*sites_of(self.deployed), *moving]

    @property
    def title(self) -> str:
        """What its channels and folders are called: those of another generation are others."""
        return f"{self.name}-{self.generation}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "generation": self.generation,
            "text": self.text,
            "called": self.called,
            "deployed": to_data(self.deployed),
            "intervals": dict(self.intervals),
            "horizons": dict(self.horizons),
            "added": [[one.text, list(one.channels)] for one in self.added],
            "removed": list(self.removed),
            "planner": self.planner,
            "until_done": self.until_done,
            "fresh": self.fresh,
            "recomputed": list(self.recomputed),
            "paused": self.paused,
            "saving": None if self.saving is None else self.saving.to_json(),
            "restores": None if self.restores is None else self.restores.to_json(),
            "imitate": self.imitate,
            "flows": [[one.start, one.end, one.planned, one.shipped, one.usd_per_gb] for one in self.flows],
            "expected": expectations_to_json(self.expected),
            "account": account_to_json(self.account),
            "move": None if self.move is None else self.move.to_json(),
            "moved": [one.to_json() for one in self.moved],
            "term": self.term,
            "terms": dict(self.terms),
            "recut": None if self.recut is None else self.recut.to_json(),
            "splits": [one.to_json() for one in self.splits],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Wanted:
        """What was written, checked anew."""
        return Wanted(
            name=_text(data["name"]),
            generation=_whole(data["generation"]),
            text=_text(data["text"]),
            called=_file_name(data["called"]),
            deployed=from_data(data["deployed"]),
            intervals={_text(name): float(value) for name, value in data["intervals"].items()},
            horizons={
                _text(name): None if value is None else _whole(value) for name, value in data["horizons"].items()
            },
            added=tuple(Added(_text(text), tuple(map(_text, channels))) for text, channels in data["added"]),
            removed=tuple(map(_text, data["removed"])),
            planner=None if data["planner"] is None else _text(data["planner"]),
            until_done=bool(data["until_done"]),
            fresh=bool(data["fresh"]),
            recomputed=tuple(map(_text, data.get("recomputed", ()))),
            paused=bool(data.get("paused", False)),
            saving=None if data.get("saving") is None else Saving.from_json(data["saving"]),
            restores=None if data.get("restores") is None else Restoring.from_json(data["restores"]),
            imitate=bool(data["imitate"]),
            flows=tuple(Flow(_text(a), _text(b), float(p), float(s), float(u)) for a, b, p, s, u in data["flows"]),
            # Earlier versions wrote neither.
            expected=expectations_from_json(data.get("expected", {})),
            account=account_from_json(data.get("account", {})),
            move=None if data["move"] is None else Move.from_json(data["move"]),
            moved=tuple(map(Moved.from_json, data["moved"])),
            term=_whole(data["term"]),
            terms={_text(name): _whole(value) for name, value in data["terms"].items()},
            recut=None if data["recut"] is None else Recut.from_json(data["recut"]),
            splits=tuple(map(Split.from_json, data["splits"])),
        )


@dataclass(frozen=True)
class Desired:
    """What is wanted from an epoch on: a deployment or nothing, where sites are reached, and who belongs to it."""

    epoch: int
    wanted: Wanted | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Where sites that can be dialled listen, as `host:port`."""
    principals: Mapping[str, str] = field(default_factory=dict)
    """Who belongs to the cluster, each with its name in certificates; nobody else is let in."""

    def next(self, **changes: Any) -> Desired:
        """What is wanted from the next epoch on."""
        return replace(self, epoch=self.epoch + 1, **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "format": _FORMAT,
            "epoch": self.epoch,
            "wanted": None if self.wanted is None else self.wanted.to_json(),
            "addresses": dict(self.addresses),
            "principals": dict(self.principals),
        }

    @staticmethod
    def from_json(data: Any) -> Desired:
        """What was written, checked anew; a `GraphError` when it cannot be."""
        try:
            if data["format"] != _FORMAT:
                raise GraphError("what is wanted was written by another version.", hint="use the same everywhere.")
            return Desired(
                _whole(data["epoch"]),
                None if data["wanted"] is None else Wanted.from_json(data["wanted"]),
                {_text(site): _text(address) for site, address in data["addresses"].items()},
                {_text(site): _text(name) for site, name in data["principals"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, InputError):
                raise
            raise GraphError(f"what is wanted has a wrong form: {type(error).__name__}: {error}.") from None


def held_at(wanted: Wanted, site: str) -> frozenset[str]:
    """The fragments of a site that stand still because their state is being handed over, or dealt out."""
    move, recut = wanted.move, wanted.recut
    if recut is not None and recut.site == site:
        return frozenset(one.name for one in recut.before)
    return frozenset([move.fragment] if move is not None and move.source == site and move.phase == "handing" else [])


def sealed(desired: Desired, sign: Callable[[bytes], str]) -> dict[str, Any]:
    """A document with its signature, as it is stored and told."""
    document = json.dumps(desired.to_json(), separators=(",", ":"))
    return {"document": document, "signature": sign(document.encode())}


def opened(record: Any, verifying_key: str) -> Desired:
    """The document of a record whose signature is right; anything else is refused."""
    if not isinstance(record, Mapping):
        raise GraphError("what is wanted is a mapping.")
    document, signature = record.get("document"), record.get("signature")
    if not isinstance(document, str) or not isinstance(signature, str):
        raise GraphError("what is wanted has no document, or no signature.")
    verify(document.encode(), signature, verifying_key)
    return Desired.from_json(json.loads(document))


def sites_of(deployed: Deployed) -> Sequence[str]:
    """The sites that have something to do: fragments, or channels that pass."""
    found = dict.fromkeys(one.site for one in deployed.fragments)
    found |= dict.fromkeys(site for channel in deployed.channels.values() for site in channel.sites)
    return list(found)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{str(value)[:60]!r} is no text")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{str(value)[:60]!r} is no whole number")
    return value


def _file_name(value: Any) -> str:
    name = _text(value)
    if not name or "/" in name or name.startswith(".") or "\0" in name:
        raise ValueError(f"{name[:60]!r} is no name of a file")
    return name

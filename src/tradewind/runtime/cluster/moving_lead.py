"""How a coordinator leads a move: what sites tell decides when its next phase begins. No I/O, and no clock of its own.

The phase is in what is wanted, so a coordinator that starts again goes on where it was. A move goes over to

* *handing* when all that the fragment reads is at its new site, back to where the fragment is at least;
* *taking* when its state was sent, and every copy of what it writes has all that it wrote;
* its end when it has done a batch at its new site, or runs there and nothing came.

Before *taking* it is undone if it takes too long, if one of its sites is started again or gone, or if it is told to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.errors import InternalError
from tradewind.fragments.deployed import Fragment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.moving import Move, Moved, Parcel
from tradewind.runtime.cluster.moving_reports import HandedTold, MoveTold
from tradewind.runtime.cluster.moving_routes import (
    Roads,
    chosen,
    joined,
    reaching,
    require_movable,
    resettled,
    withdrawn,
)
from tradewind.runtime.cluster.presence import Presence, Present

_PREPARING, _HANDING = 300.0, 60.0
"""Seconds after which a move is undone: while the fragment goes on where it is, and while it stands still."""
_QUIET = 30.0
"""Seconds that a fragment's first batch at its new site is waited for."""


def begun(wanted: Wanted, what: str, target: str, roads: Roads) -> Wanted:
    """What is wanted so that a fragment, or what merges for a query, moves to another site."""
    fragment = chosen(wanted.deployed, what)
    require_movable(fragment, target)
    if fragment.answers:
        raise InternalError(f"fragment {fragment.name!r} delivers, and was not taken apart.")
    after = resettled(wanted.deployed, fragment, target, roads)
    deployed = reaching(wanted.deployed, fragment, target, roads)
    term = wanted.term + 1
    arrives_as = replace(fragment, site=target).name
    move = Move(term, fragment.name, arrives_as, fragment.site, target, joined(deployed, after))
    return replace(wanted, deployed=deployed, move=move, term=term)


@dataclass
class Lead:
    """What is known of the move that is under way, and of those that were undone."""

    told: dict[str, MoveTold] = field(default_factory=dict)
    undone: list[dict[str, Any]] = field(default_factory=list)
    _term: int = 0
    _since: float = 0.0
    _presence: Presence = field(default_factory=lambda: Presence(0.0))
    _prepared: float = 0.0
    _stopped: float | None = None
    _last_batch: float | None = None
    _begun: float | None = None

    def take(self, told: MoveTold) -> None:
        """A site has told how far it is."""
        self.told[told.site] = told

    def next(self, wanted: Wanted, roads: Roads, now: float, heard: Mapping[str, Present]) -> Wanted | None:
        """What is wanted from now on, given who was heard of; None as long as nothing changes."""
        move = wanted.move
        if move is None:
            return None
        if move.term != self._term:
            self._term, self._since, self._prepared = move.term, now, 0.0
            self._presence = Presence(now)
            self.told, self._stopped, self._last_batch, self._begun = {}, None, None, None
        told = {site: one for site, one in self.told.items() if one.term == move.term}
        self._note(told.get(move.source), told.get(move.target), now)
        if move.phase == "taking":
            return self._over(wanted, move, told.get(move.target), now)
        # Whoever was started again begins Spark anew: the fragment goes on sooner where it is, or was.
        lost = self._presence.lost(_taking_part(wanted, move), heard, now)
        if lost is not None:
            return self.undo(wanted, move, lost)
        patience = _PREPARING if move.phase == "preparing" else self._prepared + _HANDING
        if now - self._since > patience:
            return self.undo(wanted, move, _reason(move, told))
        if move.phase == "preparing":
            if not _prepared(_named(wanted, move.fragment), told.get(move.source), told.get(move.target)):
                return None
            self._prepared = now - self._since
            return replace(wanted, move=replace(move, phase="handing"))
        handed = told[move.source].handed if move.source in told else None
        if handed is None or not _copied(wanted, move, handed, told):
            return None
        return _taken(wanted, move, handed, roads)

    def _note(self, source: MoveTold | None, target: MoveTold | None, now: float) -> None:
        """Note when things happened. Sites tell how long ago that was, since their clocks are not ours."""
        if source is not None and source.handed is not None and self._stopped is None:
            self._stopped = now - source.handed.stopped_ago
            ago = source.handed.batch_ago
            self._last_batch = None if ago is None else now - ago
        if target is not None and target.begun_ago is not None and self._begun is None:
            self._begun = now - target.begun_ago

    def _over(self, wanted: Wanted, move: Move, target: MoveTold | None, now: float) -> Wanted | None:
        if target is None or target.begun_ago is None:
            return None
        if target.batch_ago is None and target.begun_ago < _QUIET:
            return None
        first = None if target.batch_ago is None else now - target.batch_ago
        parcel = move.parcel or Parcel("", 0, 0)
        done = Moved(
            move.term, move.fragment, move.arrives_as, move.source, move.target, len(wanted.added),
            preparing_seconds=round(self._prepared, 3),
            handover_seconds=_between(self._stopped, self._begun), pause_seconds=_between(self._last_batch, first),
            state_bytes=parcel.state_bytes, bytes=parcel.size,
        )  # fmt: skip
        return replace(wanted, move=None, moved=(*wanted.moved, done))

    def undo(self, wanted: Wanted, move: Move, why: str) -> Wanted:
        """What is wanted once a move that has not come to *taking* is undone, and why it is."""
        self.note_undone(move, why)
        inputs = _named(wanted, move.fragment).inputs
        return replace(wanted, deployed=withdrawn(wanted.deployed, inputs), move=None)

    def note_undone(self, move: Move, why: str) -> None:
        """A move was undone, or given up before it began."""
        self.undone = [*self.undone[-20:], {**shown_move(move), "state": "undone", "problem": why}]

    def shown(self, wanted: Wanted | None) -> list[dict[str, Any]]:
        """All moves that are known, the last one last."""
        if wanted is None:
            return []
        found = [{**one.to_json(), "state": "done", "problem": None} for one in wanted.moved]
        found += self.undone
        if wanted.move is not None:
            problem = "; ".join(one.problem for one in self.told.values() if one.problem) or None
            found.append({**shown_move(wanted.move), "state": wanted.move.phase, "problem": problem})
        return sorted(found, key=lambda one: int(one["term"]))


def _prepared(fragment: Fragment, source: MoveTold | None, target: MoveTold | None) -> bool:
    """Whether all that a fragment reads is where it goes to, back to where it is."""
    if source is None or target is None:
        return False
    for name in fragment.inputs:
        if name not in source.read or name not in target.kept:
            return False
        read, first = source.read[name], target.kept[name]
        if (read is None) != (first is None):
            return False
        if read is not None and first is not None and first > read:
            return False
    return True


def _copied(wanted: Wanted, move: Move, handed: HandedTold, told: Mapping[str, MoveTold]) -> bool:
    """Whether every copy of what a fragment wrote has all of it."""
    for name in _named(wanted, move.fragment).outputs:
        for site in wanted.deployed.channels[name].sites:
            if site == move.source:
                continue
            if site not in told or name not in told[site].heads or told[site].heads[name] != handed.said.get(name):
                return False
    return True


def _taken(wanted: Wanted, move: Move, handed: HandedTold, roads: Roads) -> Wanted:
    fragment = _named(wanted, move.fragment)
    before, now = move.fragment, move.arrives_as
    parcel = Parcel(handed.digest, handed.size, handed.pieces, handed.state_bytes)
    return replace(
        wanted,
        deployed=resettled(withdrawn(wanted.deployed, fragment.inputs), fragment, move.target, roads),
        intervals=renamed(wanted.intervals, before, now),
        horizons=renamed(wanted.horizons, before, now),
        terms={**renamed(wanted.terms, before, now), now: move.term},
        move=replace(move, phase="taking", parcel=parcel),
    )


def renamed(values: Mapping[str, Any], before: str, now: str) -> dict[str, Any]:
    """The values of fragments, of which one has another name now."""
    return {now if name == before else name: value for name, value in values.items()}


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(max(0.0, end - start), 3)


def _named(wanted: Wanted, name: str) -> Fragment:
    return next(one for one in wanted.deployed.fragments if one.name == name)


def shown_move(move: Move) -> dict[str, Any]:
    """A move as plain data."""
    return {
        "term": move.term, "fragment": move.fragment, "arrives_as": move.arrives_as, "source": move.source,
        "target": move.target,
    }  # fmt: skip


def _taking_part(wanted: Wanted, move: Move) -> list[str]:
    """Those that a move cannot go on without: its sites, and while it stands still whoever has copies of its output."""
    sites = [move.source, move.target]
    if move.phase == "handing":
        outputs = _named(wanted, move.fragment).outputs
        sites += [site for name in outputs for site in wanted.deployed.channels[name].sites]
    return list(dict.fromkeys(sites))


def _reason(move: Move, told: Mapping[str, MoveTold]) -> str:
    """Why a move has taken too long."""
    problems = [f"{site}: {one.problem}" for site, one in sorted(told.items()) if one.problem]
    silent = [site for site in (move.source, move.target) if site not in told]
    return "; ".join(problems) or (f"nothing was heard of it from {' and '.join(silent)}" if silent else _why(move))


def _why(move: Move) -> str:
    if move.phase == "preparing":
        return "what it reads did not come to its new site in time"
    return "its state was not sent, or what it had written did not arrive everywhere, in time"

"""A coordinator arranges where fragments run: it leads them from site to site, and splits them over a site's agents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.backbone import parcels
from tradewind.errors import InputError, InternalError, RunError, TradewindError, unknown
from tradewind.fragments.deployed import Fragment
from tradewind.fragments.parting import places
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.moving import Move
from tradewind.runtime.cluster.moving_lead import begun, shown_move
from tradewind.runtime.cluster.moving_routes import Roads, chosen, require_movable
from tradewind.runtime.cluster.recut_lead import (
    busy,
    detach_begun,
    found_split,
    merge_begun,
    next_step,
    on_the_way,
    settles,
    shown,
    split_begun,
    stayed,
)
from tradewind.runtime.cluster.showing import Showing
from tradewind.runtime.cluster.workers import home_of, with_workers

_CANCELLED = "it was cancelled"
_BEGINNING = 20.0
"""Seconds that the site is waited for to which work that was set apart is to go."""


@dataclass
class Arranging(Showing):
    """A coordinator that lets fragments run elsewhere. Its methods may be called from any thread."""

    _roads: tuple[int, Roads] | None = None
    """Those that the move of a term goes by."""
    _waits: dict[int, float] = field(default_factory=dict)
    """Since when moves cannot begin, by their terms."""

    def move(self, query_or_fragment: str, site: str) -> dict[str, Any]:
        """Move a fragment that runs, or what merges for a query, to another site, with its state. Of one that delivers
        the work goes; moved back, both are one again.
        """
        with self._lock:
            wanted = self._settled()
            found = wanted.declared(self.office.root)
            # Which of a site's agents does what is for the site to decide.
            sites = [name for name in found.sites if home_of(name) == name]
            if site not in sites:
                raise unknown("site", site, sites)
            part = found_split(wanted, query_or_fragment)
            if part is not None and not part.detached:
                raise InputError(
                    f"{query_or_fragment!r} is split over {', '.join(part.places)}.", where="move",
                    hint=f"make it one again before: tradewind merge {query_or_fragment}.",
                )  # fmt: skip
            roads = Roads.of(found)
            if part is None:
                fragment = chosen(wanted.deployed, query_or_fragment)
                after = wanted
            else:
                fragment = places(wanted.deployed, part.parting)[0]
                if fragment.site == site == part.whole.site:
                    raise InputError(
                        f"the work of {query_or_fragment!r} is at {site!r} already.", where="move",
                        hint=f"tradewind merge {query_or_fragment} makes it one with what delivers.",
                    )  # fmt: skip
                after = settles(wanted, part, site)
            require_movable(fragment, site)
            if fragment.answers:
                return self._take_apart(wanted, fragment, site, roads)
            after = begun(after, fragment.name, site, roads)
            self._begin_move(after, _on_its_way(after))
            self._lead_on()
            return {"epoch": self._desired.epoch, **shown_move(_on_its_way(after))}

    def _take_apart(self, wanted: Wanted, fragment: Fragment, site: str, roads: Roads) -> dict[str, Any]:
        """Let what delivers be taken apart where it is; its work goes on its way once that is done."""
        after = detach_begun(wanted, fragment, site)
        recut = after.recut
        if recut is None:
            raise InternalError("a fragment is to be taken apart, and is not.")
        apart = replace(after, deployed=recut.done(wanted.deployed), recut=None)
        moving = begun(apart, recut.split.parting.shares[0].name, site, roads)
        self._require_there(_on_its_way(moving))
        self._want(wanted=after)
        return {"epoch": self._desired.epoch, **shown_move(_on_its_way(moving)), "apart": recut.term}

    def cancel_move(self) -> dict[str, Any]:
        """Undo the move that is under way: the fragment goes on where it was. Refused once its state was handed over,
        since it may have gone on at its new site by then.
        """
        with self._lock:
            wanted = self._running()
            move, recut, waiting = wanted.move, wanted.recut, on_the_way(wanted)
            if move is not None and move.phase == "taking":
                raise RunError(
                    f"fragment {move.fragment!r} was handed over to {move.target!r} already.",
                    hint=f"it cannot be undone; once it runs there: tradewind move {move.arrives_as} {move.source}.",
                )
            if move is not None:
                self._stay(self._lead.undo(wanted, move, _CANCELLED), move)
                return {"epoch": self._desired.epoch, **shown_move(move)}
            if recut is not None and recut.split.detached and not recut.joining:
                self._want(wanted=self._recuts.undo(wanted, recut, _CANCELLED, self.clock()))
                return {"epoch": self._desired.epoch, **shown(recut.split)}
            if waiting is not None:
                work = places(wanted.deployed, waiting.parting)[0]
                move = _on_its_way(begun(wanted, work.name, waiting.goals[0], self._all_roads(wanted)))
                self._lead.note_undone(move, _CANCELLED)
                self._want(wanted=settles(wanted, waiting, work.site))
                return {"epoch": self._desired.epoch, **shown_move(move)}
            raise InputError("nothing moves.", where="move --cancel", hint="tradewind status shows moves.")

    def split(self, query_or_fragment: str, over: int | None = None) -> dict[str, Any]:
        """Split a fragment that runs, or what merges for a query, by key over its site's agents, with its state."""
        with self._lock:
            wanted = self._settled()
            now, taken = self.clock(), busy(wanted.deployed)
            free = [place for place in self.registry.alive(now) if place not in taken]
            after = split_begun(wanted, query_or_fragment, over, free)
            if after.recut is None:
                raise InputError(f"{query_or_fragment!r} cannot be split.")
            site, *others = after.recut.split.places
            self._require_up(site)
            self._require_met([(site, place) for place in others])
            self._want(wanted=after)
            return {"epoch": self._desired.epoch, **shown(after.recut.split)}

    def merge(self, query_or_fragment: str) -> dict[str, Any]:
        """Make a fragment that is split one again."""
        with self._lock:
            wanted = self._settled()
            found = found_split(wanted, query_or_fragment)
            after = merge_begun(wanted, query_or_fragment)
            self._want(wanted=after)
            self._recuts.later = self.clock()
            self._lead_on()
            return {"epoch": self._desired.epoch, **({} if found is None else shown(found))}

    def _all_roads(self, wanted: Wanted) -> Roads:
        """The ways between all sites and workers."""
        return Roads.of(with_workers(wanted.declared(self.office.root), self.members.sites()))

    def _begin_move(self, after: Wanted, move: Move) -> None:
        self._require_there(move)
        parcels.opened(self._wired)
        self._want(wanted=after)

    def _require_there(self, move: Move) -> None:
        """Both sites are there, know what is wanted, and whoever is to exchange rows can reach each other."""
        self._require_up(move.source, move.target)
        self._require_met(move.links)

    def _require_met(self, pairs: Iterable[tuple[str, str]]) -> None:
        for one, two in pairs:
            if one not in self._desired.addresses and two not in self._desired.addresses:
                raise RunError(
                    f"{one} and {two} would have to exchange rows, and cannot reach each other.",
                    hint="start one of their agents with --listen.",
                )

    def _require_up(self, *sites: str) -> None:
        """They are there, and know what is wanted."""
        for site in sites:
            if self.registry.state_of(site, self.clock()) != "alive":
                raise RunError(f"site {site!r} is not there.", hint=f"tradewind agent --site {site}.")
        for site in sites:
            if self.registry.heard[site].report.epoch < self._desired.epoch:
                raise RunError(f"site {site!r} is not up to date yet.", hint="try again in a moment.")

    def _settled(self) -> Wanted:
        """What runs, where it is; refused while something moves, and while all of it is paused."""
        wanted = self._arranged()
        if wanted.paused:
            raise RunError(f"{wanted.name} is paused.", hint="let it go on before: tradewind resume.")
        return wanted

    def _arranged(self) -> Wanted:
        """What is to run, where it is; refused while something moves."""
        wanted = self._running()
        if wanted.move is not None:
            raise RunError(
                f"fragment {wanted.move.fragment!r} is on its way to {wanted.move.target!r}.",
                hint="wait until it is there: tradewind status shows its moves.",
            )
        if wanted.recut is not None:
            apart = "taken apart" if wanted.recut.split.detached else "split"
            doing = "made one again" if wanted.recut.joining else apart
            raise RunError(
                f"fragment {wanted.recut.split.whole.name!r} is being {doing}.",
                hint="wait until it is: tradewind status shows its splits.",
            )
        return wanted

    def _lead_on(self) -> None:
        """Go over to the next phase of a move or a cut, once it is time."""
        wanted = self._desired.wanted
        if wanted is None or wanted.paused:
            return
        if wanted.move is not None:
            self._lead_move(wanted, wanted.move)
        elif wanted.recut is not None:
            now = self.clock()
            after = self._recuts.next(wanted, self._lead.told, now, self.registry.present(now))
            if after is not None:
                self._want(wanted=after)
        elif self.clock() >= self._recuts.later:
            self._lead_splits(wanted)

    def _lead_move(self, wanted: Wanted, move: Move) -> None:
        if self._roads is None or self._roads[0] != move.term:
            self._roads = move.term, Roads.of(wanted.declared(self.office.root))
        now = self.clock()
        after = self._lead.next(wanted, self._roads[1], now, self.registry.present(now))
        if after is None:
            return
        if after.move is None and after.moved == wanted.moved:
            self._stay(after, move)
            return
        self._want(wanted=after)
        if after.move is None:
            parcels.closed(self._wired)

    def _stay(self, undone: Wanted, move: Move) -> None:
        """A move was undone: what was set apart for it is made one again in a while."""
        self._recuts.put_off(self.clock())
        self._want(wanted=stayed(undone, move))
        parcels.closed(self._wired)

    def _lead_splits(self, wanted: Wanted) -> None:
        """Bring shares to where they are to be, and do what sites propose."""
        after = next_step(wanted, lambda: self._all_roads(wanted))
        if after is None:
            self._take_proposal()
        elif after.move is not None:
            try:
                self._begin_move(after, after.move)
            except RunError:  # a place that is away, or not up to date: it will be
                self._wait_for(wanted, after.move)
        else:
            self._want(wanted=after)

    def _wait_for(self, wanted: Wanted, move: Move) -> None:
        """A move cannot begin. Work that was set apart for it is made one again if that takes too long."""
        since = self._waits.setdefault(move.term, self.clock())
        if self.clock() - since > _BEGINNING:
            self._waits.clear()
            after = stayed(wanted, move)
            if after != wanted:
                self._lead.note_undone(move, f"{move.source} or {move.target} was not there for {_BEGINNING:.0f} s")
                self._want(wanted=after)

    def _take_proposal(self) -> None:
        """A site has decided to do something in another way: that is signed, if it can be done."""
        for site in self.registry.alive(self.clock()):
            report = self.registry.heard[site].report
            if report.epoch < self._desired.epoch:
                continue
            for one in report.proposes:
                if self._named(one.fragment) != site:
                    continue
                try:
                    self.split(one.fragment, one.over) if one.kind == "split" else self.merge(one.fragment)
                except TradewindError:
                    self._recuts.put_off(self.clock())
                return

    def _named(self, fragment: str) -> str | None:
        """Where a fragment runs."""
        return next((one.site for one in self._running().deployed.fragments if one.name == fragment), None)


def _on_its_way(wanted: Wanted) -> Move:
    if wanted.move is None:
        raise InternalError("a fragment is to be moved, and is not.")
    return wanted.move

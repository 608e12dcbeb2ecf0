"""A site's part in a move: it looks at what phase the move is in, does what is to be done, and tells how far it is."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from tradewind.backbone.channels import Limits, Reader
from tradewind.backbone.connection import Connection
from tradewind.backbone.parcels import Label
from tradewind.errors import InternalError, TradewindError
from tradewind.fragments.deployed import Fragment
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.errands import Errand
from tradewind.runtime.cluster.moving import Move
from tradewind.runtime.cluster.moving_in import Arriving, kept
from tradewind.runtime.cluster.moving_out import HOLDER, Leaving
from tradewind.runtime.cluster.moving_reports import HandedTold, MoveTold
from tradewind.runtime.cluster.moving_state import order_of
from tradewind.runtime.cluster.recut_site import SiteRecut
from tradewind.runtime.cluster.recutting import Recut
from tradewind.runtime.setting import Setting
from tradewind.runtime.sites import Sites

_LOOK, _REPEAT, _AGAIN = 0.2, 1.0, 2.0
"""Seconds between two looks, between two reports of the same, and until what failed is tried again."""

_BATCH = 30.0
"""Seconds that the end of a batch is waited for before it is given up, to be done again elsewhere."""


class Courier(Protocol):
    """The way to the coordinator."""

    def connection(self) -> Connection:
        """A connection to its store; an error while it is away."""

    def tell_move(self, told: MoveTold) -> None:
        """Send a report on a move, as soon as can be."""


@dataclass(slots=True)
class Batches:
    """When the first and the last batch of a fragment were done here, by the site's clock."""

    first: float
    last: float


@dataclass
class SiteMove:
    """What a site does for the moves and cuts of a deployment. All but errands happens in the thread that looks."""

    site: str
    folder: Path
    """That of the deployment's state."""
    courier: Courier
    clock: Callable[[], float]
    batches: Mapping[str, Batches]
    """By fragment."""
    _term: int = 0
    _errand: Errand | None = None
    _rehearsal: Errand | None = None
    _braking: Errand | None = None
    _again_at: float = 0.0
    _looked: float = float("-inf")
    _told: tuple[float, MoveTold | None] = (float("-inf"), None)
    _held: bool = False
    _stopped_at: float | None = None
    _begun_at: float | None = None
    _recut: SiteRecut = field(init=False)

    def __post_init__(self) -> None:
        self._recut = SiteRecut(self.site, self.folder, self.clock)

    def take(self, wanted: Wanted) -> None:
        """What is wanted has changed."""
        self._recut.take(wanted)
        term = wanted.move.term if wanted.move is not None else 0
        if term != self._term:
            self._term, self._held, self._stopped_at, self._begun_at = term, False, None, None
            self._wait()
            self._errand = self._rehearsal = self._braking = None
        if wanted.move is None:
            for old in self.folder.glob("leaving-*"):
                shutil.rmtree(old, ignore_errors=True)

    def ready(self, wanted: Wanted, sites: Sites | None, setting: Setting, url: str, limits: Limits) -> bool:
        """Whether what is wanted can be done: a fragment that is to stand still is at the end of a batch, and the state
        of one that comes is here. If not, that is seen to.
        """
        move = wanted.move
        if wanted.recut is not None:
            return self._recut.braked(wanted.recut, sites)
        if move is not None and move.phase == "handing" and move.source == self.site:
            return self._braked(sites, move.fragment)
        if move is None or move.phase != "taking" or move.target != self.site:
            return True
        fragment = _called(wanted, move.arrives_as)
        arriving = Arriving(
            fragment, move.term, setting.epoch(fragment.name), wanted.title, setting.folder(fragment)
        )  # fmt: skip
        if self._errand is not None and not self._errand.over:
            return False
        if arriving.arrived:
            self._errand = None
            return True
        parcel = move.parcel
        if parcel is None:
            raise InternalError("a fragment is to be taken of which nothing was handed over.")
        label = Label(move.source, self.site, f"{wanted.title}-{move.term}")
        self._begin(lambda: arriving.fetch(self.courier.connection, label, parcel, url, limits))
        return False

    def _braked(self, sites: Sites | None, fragment: str) -> bool:
        if self._braking is None and sites is not None:
            self._braking = Errand(lambda: sites.brake(fragment, _BATCH))
        if self._braking is not None and not self._braking.over:
            return False
        if self._stopped_at is None:
            self._stopped_at = self.clock()
        return True

    def look(self, wanted: Wanted, sites: Sites | None) -> None:
        """Do what is to be done now, and tell."""
        turn, now = wanted.move or wanted.recut, self.clock()
        if turn is None or now - self._looked < _LOOK:
            return
        self._looked = now
        try:
            found: dict[str, Any] = {} if sites is None else self._done(wanted, turn, sites)
        except TradewindError as error:
            found = {"problem": str(error)[:2000]}
        problem = self._errand.problem if self._errand is not None else None
        told = MoveTold(site=self.site, term=turn.term, **{"problem": problem, **found})
        if told != self._told[1] or now - self._told[0] >= _REPEAT:
            self._told = now, told
            self.courier.tell_move(told)

    def stop(self) -> None:
        """Wait for what is being done."""
        self._wait()
        self._recut.wait()

    def _done(self, wanted: Wanted, move: Move | Recut, sites: Sites) -> dict[str, Any]:
        if isinstance(move, Recut):
            return self._recut.done(move, sites)
        if move.phase == "taking":
            return self._begun(move) if self.site == move.target else {}
        fragment = _called(wanted, move.fragment)
        found: dict[str, Any] = {}
        if self.site == move.source:
            leaving = Leaving(sites, fragment, self.folder / f"leaving-{move.term}")
            if not self._held:
                leaving.hold()
                self._held = True
            found = {"read": leaving.read()} if move.phase == "preparing" else self._handed(leaving, wanted, move)
        elif move.phase == "handing":
            found = {"heads": _heads(wanted, fragment, sites, self.site)}
        if self.site == move.target and move.phase == "preparing":
            there = kept(sites, fragment.inputs, self.site, move.arrives_as)
            if self._rehearsed(sites, replace(fragment, site=self.site), there):
                found["kept"] = there
        return found

    def _rehearsed(self, sites: Sites, fragment: Fragment, there: Mapping[str, int | None]) -> bool:
        """Whether it was tried here what the fragment does. It need not go well: it is only for speed."""
        if self._rehearsal is None and set(there) == set(fragment.inputs):
            folder = self.folder / "rehearsal"
            self._rehearsal = Errand(lambda: sites.rehearse(fragment, folder, HOLDER))
        return self._rehearsal is not None and self._rehearsal.over

    def _handed(self, leaving: Leaving, wanted: Wanted, move: Move) -> dict[str, Any]:
        now = self.clock()
        label = Label(self.site, move.target, f"{wanted.title}-{move.term}")
        if self._errand is None or (self._errand.over and self._errand.problem is not None):
            self._begin(lambda: leaving.send(self.courier.connection, label))
        if self._errand is None or not self._errand.over or self._errand.result is None:
            return {}
        seen = self.batches.get(move.fragment)
        ago = None if seen is None else now - seen.last
        told = HandedTold(**self._errand.result, stopped_ago=now - (self._stopped_at or now), batch_ago=ago)
        return {"handed": told}

    def _begun(self, move: Move) -> dict[str, Any]:
        now = self.clock()
        if self._begun_at is None:
            self._begun_at = now
        seen = self.batches.get(move.arrives_as)
        return {"begun_ago": now - self._begun_at, "batch_ago": None if seen is None else now - seen.first}

    def _begin(self, work: Callable[[], Any]) -> None:
        if self.clock() >= self._again_at:
            self._again_at = self.clock() + _AGAIN
            self._errand = Errand(work)

    def _wait(self) -> None:
        for one in (self._errand, self._rehearsal, self._braking):
            if one is not None:
                one.wait()


def guests_of(wanted: Wanted) -> frozenset[str]:
    """Those who may be subscribed to channels while a fragment moves, besides whoever reads them."""
    if wanted.recut is not None:
        return frozenset(one.name for one in wanted.recut.arriving)
    return frozenset() if wanted.move is None else frozenset([HOLDER, wanted.move.arrives_as])


def _called(wanted: Wanted, name: str) -> Fragment:
    return next(one for one in wanted.deployed.fragments if one.name == name)


def _heads(wanted: Wanted, fragment: Fragment, sites: Sites, site: str) -> dict[str, int | None]:
    """The newest commits of the channels that a fragment writes, where a site has copies of them."""
    found: dict[str, int | None] = {}
    for name in fragment.outputs:
        if site in wanted.deployed.channels[name].sites:
            last = Reader(sites.wiring.connection, sites.wiring.address(site, name)).last()
            found[name] = None if last is None else order_of(*last.commit.order)
    return found

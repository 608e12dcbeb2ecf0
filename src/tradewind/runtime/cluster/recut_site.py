"""A site's part when a fragment is split, or made one again: what stands still is dealt out anew, on its own disk.

All of it bears repetition: nothing is taken from what stands still before that has ended, and what begins counts once
its folder has its name.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.backbone.retention import subscribed
from tradewind.fragments.deployed import Fragment
from tradewind.fragments.parting import channels
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.errands import Errand
from tradewind.runtime.cluster.recutting import Recut
from tradewind.runtime.recut import gathered, parted
from tradewind.runtime.sites import Sites

_NOTED = "arrived.json"
_AGAIN = 2.0
"""Seconds until what failed is tried again."""
_BATCH = 30.0
"""Seconds that the end of a batch is waited for before it is given up, to be done again."""
_MOST = 2_000
"""Letters of a problem that are told."""


@dataclass
class SiteRecut:
    """What a site does for the cuts of a deployment. All but errands happens in the thread that looks."""

    site: str
    folder: Path
    """That of the deployment's state."""
    clock: Callable[[], float]
    _recut: Recut | None = None
    _braking: Errand | None = None
    _work: Errand | None = None
    _again_at: float = 0.0

    def take(self, wanted: Wanted) -> None:
        """What is wanted has changed."""
        before, self._recut = self._recut, wanted.recut
        if before is None or wanted.recut is None or before.term != wanted.recut.term:
            self.wait()
            self._braking, self._work, self._again_at = None, None, 0.0
        if wanted.recut is None:
            shutil.rmtree(self.folder / "recut", ignore_errors=True)
            self._forget(before, wanted)

    def _forget(self, undone: Recut | None, wanted: Wanted) -> None:
        """Remove what a cut that was undone had made ready: it never began."""
        runs = {one.name for one in wanted.deployed.fragments}
        for one in undone.arriving if undone is not None else ():
            if one.name not in runs and one.site == self.site:
                shutil.rmtree(self.folder / "fragments" / one.name, ignore_errors=True)

    def braked(self, recut: Recut, sites: Sites | None) -> bool:
        """Whether what is to stand still is at the end of a batch. If not, that is seen to."""
        if recut.site != self.site or sites is None:
            return True
        if self._braking is None:
            self._braking = Errand(lambda: _brake(recut, sites))
        return self._braking.over

    def done(self, recut: Recut, sites: Sites) -> dict[str, Any]:
        """Do what is to be done, and tell whether it is."""
        if recut.site != self.site:
            return {}
        if self._work is None or (
            self._work.over and self._work.problem is not None and self.clock() >= self._again_at
        ):
            self._again_at = self.clock() + _AGAIN
            self._work = Errand(lambda: self._cut(recut, sites))
        problem = None if self._work.problem is None else self._work.problem[:_MOST]
        return {"recut": self._work.over and problem is None, "problem": problem}

    def wait(self) -> None:
        """Wait for what is being done."""
        for one in (self._braking, self._work):
            if one is not None:
                one.wait()

    def _cut(self, recut: Recut, sites: Sites) -> None:
        if all(_arrived(sites.setting.folder(one), recut.term) for one in recut.arriving):
            return
        work, parting, whole = self.folder / "recut", recut.split.parting, recut.split.whole
        shutil.rmtree(work, ignore_errors=True)
        if recut.joining:
            sites.level(parting.shares, parting.together)
            memories = {one.name: sites.setting.folder(one) / "memory" for one in recut.before}
            found = {whole.name: gathered(sites.aside(), parting, memories, work)}
        else:
            sites.settle(whole)
            new = {one.name: one for one in channels(parting, sites.setting.deployed.channels)}
            found = parted(sites.aside(), parting, sites.setting.folder(whole) / "memory", new, work)
        for one in recut.arriving:
            self._arrive(one, found[one.name], recut, sites)

    def _arrive(self, fragment: Fragment, folder: Path, recut: Recut, sites: Sites) -> None:
        """Let a fragment have what it goes on with; from now on nothing is removed of what it reads."""
        for channel in set(fragment.inputs) & set(sites.setting.deployed.channels):
            subscribed(sites.wiring.connection, sites.wiring.address(self.site, channel), fragment.name)
        (folder / _NOTED).write_text(json.dumps({"term": recut.term}))
        place = sites.setting.folder(fragment)
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(place)


def _brake(recut: Recut, sites: Sites) -> None:
    for one in recut.before:
        sites.brake(one.name, _BATCH)


def _arrived(folder: Path, term: int) -> bool:
    noted = folder / _NOTED
    return noted.exists() and json.loads(noted.read_text())["term"] == term

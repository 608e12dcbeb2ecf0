"""A coordinator takes savepoints: all sites stand still, save their parts, and go on once all have; and it knows which
deployments may start from them.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tradewind.errors import InputError, RunError, TradewindError, unknown
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.differences import difference
from tradewind.fragments.triggers import queries_of
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.desired import Wanted, sites_of
from tradewind.runtime.cluster.pausing import Pausing
from tradewind.runtime.cluster.saving import Saving
from tradewind.runtime.cluster.site_saving import KIND, REMOVING
from tradewind.runtime.savepoints import require_name, require_without_tables

_PATIENCE = 5.0
_LONGEST = 600.0
"""Seconds that sites have for it: then they go on without."""
_MOST = 5
"""So many of those that failed are remembered."""


@dataclass(frozen=True)
class Savepoint:
    """What a coordinator knows of a savepoint: what it is of."""

    name: str
    key: str
    created: str
    wanted: Wanted

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        known = {"format": 1, "name": self.name, "key": self.key, "created": self.created}
        return {**known, "wanted": self.wanted.to_json()}

    def shown(self) -> dict[str, Any]:
        """For people and programs."""
        queries = {name for one in self.wanted.deployed.fragments for name in one.answers} - set(self.wanted.removed)
        return {
            "name": self.name, "state": "taken", "created": self.created, "deployment": self.wanted.name,
            "queries": sorted(queries), "sites": sorted(sites_of(self.wanted.deployed)), "problem": None,
        }  # fmt: skip

    @staticmethod
    def load(path: Path) -> Savepoint:
        """What was written."""
        try:
            data = json.loads(path.read_text())
            return Savepoint(data["name"], data["key"], data["created"], Wanted.from_json(data["wanted"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"the savepoint cannot be read: {type(error).__name__}: {error}.", where=str(path)) from None


@dataclass
class Saves(Pausing):
    """A coordinator that takes savepoints. Its methods may be called from any thread."""

    _saving_since: tuple[str, float] | None = None
    _failures: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name, those that could not be taken."""

    @property
    def _savepoints(self) -> Path:
        return self.office.folder / "savepoints"

    def savepoint(self, name: str) -> dict[str, Any]:
        """Begin to take a savepoint of what runs: it stands still meanwhile."""
        with self._lock:
            wanted = self._arranged()
            if wanted.saving is not None:
                raise RunError(f"savepoint {wanted.saving.name!r} is being taken.", hint="wait until it is.")
            if (self._savepoints / f"{require_name(name)}.json").exists():
                raise InputError(
                    f"there is a savepoint {name!r} already.", hint="give another name, or --remove that one before."
                )
            found = wanted.declared(self.office.root)
            running = {name for one in wanted.deployed.fragments for name in one.answers} - set(wanted.removed)
            require_without_tables(found, sorted(running))
            self._require_up(*sites_of(wanted.deployed))
            self._failures.pop(name, None)
            saving = Saving(name, secrets.token_hex(8), resumes=not wanted.paused)
            self._want(wanted=replace(wanted, paused=True, saving=saving))
            return {"epoch": self._desired.epoch, "name": name, "deployment": wanted.name}

    def savepoints(self) -> list[dict[str, Any]]:
        """Those that there are, the one that is being taken, and the last ones that could not be."""
        with self._lock:
            known = [Savepoint.load(path).shown() for path in sorted(self._savepoints.glob("*.json"))]
            wanted = self._desired.wanted
            if wanted is not None and wanted.saving is not None:
                known.append(_unfinished(wanted, wanted.saving.name, "saving", None))
            return [*known, *self._failures.values()]

    def remove_savepoint(self, name: str) -> dict[str, Any]:
        """Remove a savepoint, here and at the sites that are there."""
        known = self.known_savepoint(name)
        (self._savepoints / f"{name}.json").unlink()
        left = []
        for site in sites_of(known.wanted.deployed):
            try:
                self._questions.ask(site, {"kind": REMOVING, "name": name, "key": known.key}, _PATIENCE)
            except TradewindError:
                left.append(site)
        return {"removed": name, "left_at": sorted(left)}

    def known_savepoint(self, name: str) -> Savepoint:
        """A savepoint by its name."""
        path = self._savepoints / f"{require_name(name)}.json"
        if not path.exists():
            raise unknown("savepoint", name, [one.stem for one in self._savepoints.glob("*.json")])
        return Savepoint.load(path)

    def _require_saved(self, known: Savepoint) -> None:
        """Every site that has a part of a savepoint is there, and has it."""
        for site in sites_of(known.wanted.deployed):
            if self.registry.state_of(site, self.clock()) != "alive":
                raise RunError(
                    f"site {site!r} is not there, and holds a part of savepoint {known.name!r}.",
                    hint=f"tradewind agent --site {site}.",
                )
            keys = self._questions.ask(site, {"kind": KIND}, _PATIENCE)
            if keys.get(known.name) != known.key:
                raise RunError(
                    f"site {site!r} does not have its part of savepoint {known.name!r} any more.",
                    hint="use another savepoint; tradewind savepoint --list shows them.",
                )

    def _lead_on(self) -> None:
        wanted = self._desired.wanted
        if wanted is None or wanted.saving is None:
            super()._lead_on()
        else:
            self._lead_saving(wanted, wanted.saving)

    def _lead_saving(self, wanted: Wanted, saving: Saving) -> None:
        """Let all go on once every site has saved its part, or once one could not."""
        if self._saving_since is None or self._saving_since[0] != saving.key:
            self._saving_since = saving.key, self.clock()
        needed = set(sites_of(wanted.deployed))
        heard = [one.report for site, one in self.registry.heard.items() if site in needed]
        reports = [one for one in heard if one.saving == saving.key]
        problem = next((f"site {one.site}: {one.unsaved}" for one in reports if one.unsaved is not None), None)
        missing = sorted(needed - {one.site for one in reports if one.saved})
        after = replace(wanted, saving=None, paused=not saving.resumes)
        if not missing:
            now = datetime.fromtimestamp(time.time(), UTC)  # noqa: TID251 - shown to people; nothing is decided by it
            self._keep(Savepoint(saving.name, saving.key, now.isoformat(timespec="seconds"), after))
        elif problem is None and self.clock() - self._saving_since[1] < _LONGEST:
            return
        else:
            why = problem or f"{', '.join(missing)} did not save within {_LONGEST:.0f} s"
            self._failures[saving.name] = _unfinished(wanted, saving.name, "failed", why)
            for old in list(self._failures)[:-_MOST]:
                del self._failures[old]
        self._want(wanted=after)

    def _keep(self, known: Savepoint) -> None:
        self._savepoints.mkdir(parents=True, exist_ok=True)
        path = self._savepoints / f"{known.name}.json"
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(known.to_json()))
        partial.replace(path)


def _unfinished(wanted: Wanted, name: str, state: str, problem: str | None) -> dict[str, Any]:
    shown = Savepoint(name, "", "", wanted).shown()
    return {**shown, "created": None, "state": state, "problem": problem}


def require_fit(known: Savepoint, saved: Deployment, after: Wanted, new: Deployment) -> None:
    """Refuse a deployment whose queries and fragments are not those of a savepoint, and say which differ."""
    said = _misfits(known.wanted, saved, after, new)
    if said:
        raise InputError(
            f"savepoint {known.name!r} is of something else: {'; '.join(said)}.",
            hint="apply the file as it was when the savepoint was taken, and change it then; or start without --from.",
        )


def _misfits(before: Wanted, saved: Deployment, after: Wanted, new: Deployment) -> list[str]:
    old, now = _queries(before), _queries(after)
    said = [f"query {name!r} is not in the savepoint" for name in sorted(now - old)]
    said += [f"query {name!r} is in the savepoint only" for name in sorted(old - now)]
    change = difference(before.deployed, after.deployed)
    for name in sorted(old & now):
        fragments = [one.name for one in change.started if name in queries_of(after.deployed, one)]
        if fragments:
            said.append(f"query {name!r} has fragments that are not in the savepoint ({', '.join(fragments)})")
        elif _delivery(saved, name) != _delivery(new, name):
            said.append(f"query {name!r} is delivered in another way")
    late = [name for name, horizon in after.horizons.items() if before.horizons.get(name, horizon) != horizon]
    if late:
        said.append("`revise_within` has changed")
    if before.until_done != after.until_done:
        said.append(f"it was taken {'with' if before.until_done else 'without'} --until-done")
    if not said and _ways(before.deployed) != _ways(after.deployed):
        said.append("its rows go other ways between sites")
    return said


def _queries(wanted: Wanted) -> set[str]:
    return {name for one in wanted.deployed.fragments for name in one.answers} - set(wanted.removed)


def _delivery(found: Deployment, name: str) -> tuple[str | None, bool, str]:
    query = found.queries[name]
    return query.deliver.format, query.tentative, query.deliver.site


def _ways(deployed: Deployed) -> dict[str, Any]:
    return {name: (channel.site, sorted(channel.hops)) for name, channel in deployed.channels.items()}

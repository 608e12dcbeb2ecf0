"""A site's part in savepoints: what stands still is copied, and put back where a deployment starts from it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.backbone import catalog, copies
from tradewind.backbone.channels import Limits
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.errors import InputError, TradewindError
from tradewind.runtime.cluster.errands import Errand
from tradewind.runtime.cluster.saving import Restoring, Saving
from tradewind.runtime.savepoints import (
    STATE,
    copied,
    manifest_of,
    put_back_outputs,
    rebased,
    require_name,
    save_outputs,
    taken,
)
from tradewind.spark.sinks import Sink

KIND, REMOVING = "savepoints", "savepoint-remove"
"""The kinds of questions about savepoints."""
_CHANNELS = "channels"
_MOST = 2_000
"""Letters of a problem that are told."""


@dataclass
class SiteSaving:
    """The savepoint that a site takes. Taking it bears repetition; what is there under its key is not taken again."""

    folder: Path
    """Where the site's savepoints are."""
    key: str | None = None
    """That of the one that is being taken."""
    _errand: Errand | None = None

    def look(self, saving: Saving, title: str, run: Path, backbone: str, sinks: Mapping[str, Sink]) -> None:
        """Begin to take it, unless that was begun. What it is of stands still."""
        if self.key != saving.key:
            self.wait()
            self.key = saving.key
            place = self.folder / saving.name
            self._errand = Errand(lambda: save(place, saving, title=title, run=run, backbone=backbone, sinks=sinks))

    @property
    def done(self) -> bool:
        """Whether it was taken."""
        return self._errand is not None and self._errand.over and self._errand.problem is None

    @property
    def problem(self) -> str | None:
        """Why it could not be taken."""
        return self._errand.problem[:_MOST] if self._errand is not None and self._errand.problem is not None else None

    def wait(self) -> None:
        """Wait for what is being done."""
        if self._errand is not None:
            self._errand.wait()

    def forget(self) -> None:
        """None is being taken any more."""
        self.wait()
        self.key, self._errand = None, None


def save(place: Path, saving: Saving, *, title: str, run: Path, backbone: str, sinks: Mapping[str, Sink]) -> None:
    """Take a site's part of a savepoint: its fragments' state, its channels, and what it has delivered."""
    if keys_in(place.parent).get(saving.name) == saving.key:
        return

    def filled(work: Path) -> dict[str, Any]:
        size = copied(run, work / STATE)
        (work / _CHANNELS).mkdir()
        channels = []
        with closing(Connection.open(backbone)) as connection:
            for number, one in enumerate(catalog.channels(connection, title)):
                size += copies.save(connection, one.address, work / _CHANNELS / str(number))
                channels.append([one.address.site, one.address.channel])
        outputs = save_outputs(sinks, work)
        return {
            "format": 1, "name": saving.name, "key": saving.key, "title": title, "folder": str(run.absolute()),
            "channels": channels, "outputs": outputs, "bytes": size,
        }  # fmt: skip

    taken(place, filled)


def restore(
    savepoints: Path, restoring: Restoring, *, title: str, run: Path, backbone: str, sinks: Mapping[str, Sink],
    limits: Limits,
) -> None:  # fmt: skip
    """Make a site's part of a savepoint the state of a run that has none yet. Bears repetition: the run's folder is
    there once all of it is done.
    """
    place = savepoints / restoring.name
    known = manifest_of(place)
    if known["key"] != restoring.key:
        raise InputError(
            f"savepoint {restoring.name!r} is another one here.",
            where=str(place),
            hint="take it again under a new name.",
        )
    work = run.with_name(f".{run.name}.restoring")
    shutil.rmtree(work, ignore_errors=True)
    copied(place / STATE, work)
    rebased(work, Path(known["folder"]), run.absolute())
    with closing(Connection.open(backbone)) as connection:
        for number, (site, channel) in enumerate(known["channels"]):
            copies.restore(connection, Address(title, site, channel), place / _CHANNELS / str(number), limits)
    put_back_outputs(sinks, place)
    work.rename(run)


def keys_in(folder: Path) -> dict[str, str]:
    """The savepoints of a folder that are whole: their names and keys."""
    found = {}
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not place.name.startswith("."):
            try:
                found[place.name] = str(manifest_of(place)["key"])
            except (TradewindError, KeyError):
                continue
    return found


def asked(question: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """What a coordinator wants to know of a site's savepoints, or to be removed."""
    if question["kind"] == REMOVING:
        name = require_name(str(question.get("name")))
        if keys_in(folder).get(name) == question.get("key"):
            shutil.rmtree(folder / name)
    return keys_in(folder)

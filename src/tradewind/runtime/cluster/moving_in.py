"""A fragment comes to a site: its state is fetched, checked and put where a fragment of the site keeps it.

All of it bears repetition: what is there counts once its folder has its name.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from tradewind.backbone import parcels
from tradewind.backbone.channels import Limits, Reader, inherit
from tradewind.backbone.commits import Commit as ChannelCommit
from tradewind.backbone.connection import Connection
from tradewind.backbone.names import Address
from tradewind.backbone.parcels import LARGEST, Label
from tradewind.backbone.retention import subscribed
from tradewind.errors import DataError, RunError
from tradewind.fragments.deployed import Fragment
from tradewind.runtime.cluster.moving import Parcel
from tradewind.runtime.cluster.moving_state import Manifest, order_of, unpack
from tradewind.runtime.sites import Sites
from tradewind.spark.memory import Commit, write_commit

_ARRIVED = "arrived.json"


@dataclass(frozen=True, slots=True)
class Arriving:
    """A fragment that comes to a site: as what, by which move, and where its state is to be.

    `epoch` is the first of those that it commits under at the site.
    """

    fragment: Fragment
    term: int
    epoch: int
    title: str
    folder: Path
    """Where the state of the fragment belongs."""

    def address(self, channel: str) -> Address:
        """A channel at the site."""
        return Address(self.title, self.fragment.site, channel)

    @property
    def arrived(self) -> bool:
        """Whether its state is there."""
        noted = self.folder / _ARRIVED
        return noted.exists() and json.loads(noted.read_text())["term"] == self.term

    def fetch(
        self, connection: Callable[[], Connection], label: Label, parcel: Parcel, url: str, limits: Limits
    ) -> None:
        """Get the state from the coordinator's store, and make it that of the fragment here."""
        work = self.folder.with_name(f"arriving-{self.term}")
        shutil.rmtree(work, ignore_errors=True)
        fresh = work / "fragment"
        (fresh / "memory" / "commits").mkdir(parents=True)
        _fetched(parcels.pieces(connection(), label, parcel.pieces), parcel, work / "state.tar.zst")
        manifest, commit = unpack(work / "state.tar.zst", fresh)
        with closing(Connection.open(url)) as here:
            if commit.batch >= 0:
                write_commit(fresh / "memory", self._translated(here, manifest, commit))
            self._inherit(here, manifest, limits)
        (fresh / _ARRIVED).write_text(json.dumps({"term": self.term}))
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        fresh.rename(self.folder)
        shutil.rmtree(work, ignore_errors=True)

    def _translated(self, here: Connection, manifest: Manifest, commit: Commit) -> Commit:
        """The last commit with the numbers that the channels' commits have here. Last words of channels are heard
        again, and what was sent has been seen.
        """
        positions = {}
        for channel in self.fragment.inputs:
            number = self._number(here, channel, manifest.read.get(channel))
            if number:
                positions[channel] = number
        kept = {key: value for key, value in commit.notes.items() if key not in {"sent", "closed", "closing"}}
        notes = {**kept, "positions": positions, "begins": commit.batch + 1, "buckets": manifest.buckets}
        return replace(commit, notes=notes)

    def _number(self, here: Connection, channel: str, order: int | None) -> int:
        """The number here of the last commit that was read elsewhere."""
        if order is None:
            return 0
        # A closing commit counts as not read: it is provisional, and its parts have other numbers here.
        data = order - order % 2
        found = [(order_of(*one.commit.order), one.number) for one in Reader(here, self.address(channel)).commits(0)]
        if not found or found[0][0] > order:
            raise RunError(
                f"channel {channel!r} does not reach back to where the fragment stood.", where=self.fragment.name
            )
        return max((number for at, number in found if at <= data), default=0)

    def _inherit(self, here: Connection, manifest: Manifest, limits: Limits) -> None:
        """The channels that the fragment writes begin where they stood."""
        for channel in self.fragment.outputs:
            said = manifest.said.get(channel)
            if said is not None:
                last = ChannelCommit(self.fragment.name, self.epoch, said.order // 2, marks=said.marks)
                inherit(here, self.address(channel), last, limits)


def kept(sites: Sites, inputs: Iterable[str], site: str, name: str) -> dict[str, int | None]:
    """From which commit on each channel is at a site, for a reader of a name, for whom all of it is kept from now on;
    those that do not come there yet are left out.
    """
    wiring, found = sites.wiring, {}
    for channel in inputs:
        if wiring.linked(channel):
            address = wiring.address(site, channel)
            subscribed(wiring.connection, address, name)
            first = Reader(wiring.connection, address).commits(0, limit=1)
            found[channel] = order_of(*first[0].commit.order) if first else None
    return found


def _fetched(pieces: Iterable[bytes], parcel: Parcel, path: Path) -> None:
    """Write down what was fetched, if it is what was announced."""
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > min(parcel.size, LARGEST):
                raise DataError("a fragment's state is larger than announced.")
            digest.update(piece)
            file.write(piece)
    if size != parcel.size or digest.hexdigest() != parcel.digest:
        raise DataError("a fragment's state is not what was announced.", hint="it is fetched again in a while.")

"""A fragment leaves a site: how far it has read is told while it runs, and what it remembers is sent once it stands
still.

What was packed stays on disk until the move is over, so that a site that dies while it sends sends the same again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.backbone import parcels
from tradewind.backbone.channels import Reader
from tradewind.backbone.commits import Placed
from tradewind.backbone.connection import Connection
from tradewind.backbone.parcels import LARGEST, PIECE, Label
from tradewind.backbone.retention import subscribed
from tradewind.errors import RunError
from tradewind.fragments.deployed import Fragment
from tradewind.runtime.cluster.moving_state import Manifest, Said, order_of, pack
from tradewind.runtime.sites import Sites
from tradewind.spark.memory import last_commit

HOLDER = "moving"
"""Who is subscribed to what a fragment reads that is to leave: nothing is removed by which its place is known."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A fragment that is about to leave a site, and the folder for what is sent of it."""

    sites: Sites
    fragment: Fragment
    folder: Path

    @property
    def _memory(self) -> Path:
        return self.sites.setting.folder(self.fragment) / "memory"

    def _reader(self, channel: str) -> Reader:
        return Reader(self.sites.wiring.connection, self.sites.wiring.address(self.fragment.site, channel))

    def hold(self) -> None:
        """From now on nothing is removed of what the fragment reads."""
        for channel in self.fragment.inputs:
            address = self.sites.wiring.address(self.fragment.site, channel)
            subscribed(self.sites.wiring.connection, address, HOLDER)

    def read(self) -> dict[str, int | None]:
        """How far each channel has been read. One whose last read commit was removed already is left out: that is known
        again once the next one has been read.
        """
        notes = last_commit(self._memory).notes
        found: dict[str, int | None] = {}
        for channel in self.fragment.inputs:
            number = int(notes.get("positions", {}).get(channel, 0))
            if not number:
                found[channel] = None
            elif there := self._reader(channel).commits(number - 1, upto=number):
                found[channel] = order_of(*there[0].commit.order)
        return found

    def packed(self) -> dict[str, Any]:
        """What is to be sent, packed; what was packed before is not packed again."""
        noted = self.folder / "packed.json"
        if noted.exists():
            found: dict[str, Any] = json.loads(noted.read_text())
            return found
        self.sites.settle(self.fragment)
        self.folder.mkdir(parents=True, exist_ok=True)
        read = self.read()
        missing = set(self.fragment.inputs) - set(read)
        if missing:
            raise RunError(f"it is not known how far channel {min(missing)!r} was read.", where=self.fragment.name)
        last = {channel: self._reader(channel).last() for channel in self.fragment.outputs}
        said = {channel: _said(one) for channel, one in last.items()}
        manifest = Manifest(read, said, self.sites.buckets(self.fragment))
        done = pack(self._memory, manifest, self.folder / "state.tar.zst")
        if done.size > LARGEST:
            raise RunError(
                f"its state of {done.size:,} bytes is too large to be sent; {LARGEST:,} can be.",
                where=self.fragment.name,
            )
        orders = {channel: None if one is None else one.order for channel, one in said.items()}
        told = {
            "digest": done.digest, "size": done.size, "pieces": -(-done.size // PIECE),
            "state_bytes": done.state_bytes, "said": orders,
        }  # fmt: skip
        partial = noted.with_suffix(".partial")
        partial.write_text(json.dumps(told))
        partial.replace(noted)
        return told

    def send(self, connection: Callable[[], Connection], label: Label) -> dict[str, Any]:
        """Pack it and send it to the coordinator's store; what was sent is told."""
        told = self.packed()
        for number, piece in enumerate(_pieces(self.folder / "state.tar.zst")):
            parcels.send(connection(), label, number, piece)
        return told


def _said(one: Placed | None) -> Said | None:
    return None if one is None else Said(order_of(*one.commit.order), one.commit.marks)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE):
            yield piece

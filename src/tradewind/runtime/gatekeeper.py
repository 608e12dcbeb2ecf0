"""Lets fragments know of commits on the channels that they read, through the gates that gather them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

from tradewind.backbone.commits import Placed
from tradewind.backbone.names import Address
from tradewind.backbone.news import News
from tradewind.runtime.gate import Gate
from tradewind.runtime.wiring import Wiring
from tradewind.spark.query import Running

_LOOK = 0.05


class Gatekeeper:
    """The gates of a run."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._gates: dict[Path, Gate] = {}
        """By the folder of the fragment that each is the gate of."""
        self._news: dict[Path, News] = {}
        """What tells a fragment by itself of commits, by its folder."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._look, name="tradewind-gates", daemon=True)
        self._thread.start()

    def listen(self, some: Iterable[tuple[Running, float]]) -> None:
        """Let fragments know of the commits on their channels, from where they stand; a commit waits at the gate of
        each for so many seconds at most.
        """
        wanted: dict[Address, int] = {}
        gates: dict[Address, list[Gate]] = {}
        folders = []
        for one, patience in some:
            inlets = one.intake.inlets
            if inlets is None:
                continue
            notes = one.engine.memory.committed.notes
            ended = [name for name, closed in notes.get("closed", {}).items() if closed is not None]
            gate = Gate(inlets.addresses, ended, inlets.tickets.issue, patience=patience)
            self._gates[one.folder] = gate
            folders.append(one.folder)
            for name, address in inlets.addresses.items():
                after = notes.get("positions", {}).get(name, 0)
                wanted[address] = min(after, wanted.get(address, after))
                gates.setdefault(address, []).append(gate)

        def told(address: Address, placed: Placed) -> None:
            for gate in gates[address]:
                gate.told(address.channel, placed)

        if wanted:
            news = self._wiring.listen(wanted, told)
            if len(folders) == 1:
                self._news[folders[0]] = news

    def forget(self, one: Running) -> None:
        """Nothing is let through to a fragment any more."""
        gate = self._gates.pop(one.folder, None)
        if gate is not None:
            gate.close()
        news = self._news.pop(one.folder, None)
        if news is not None:
            self._wiring.unlisten(news)

    def _look(self) -> None:
        while not self._stopping.wait(_LOOK):
            for gate in tuple(self._gates.values()):
                gate.look()

    def stop(self) -> None:
        """Nothing is let through any more."""
        self._stopping.set()
        self._thread.join()

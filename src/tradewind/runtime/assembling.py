"""A fragment put together from its parts: its engine, what it reads, and where its results go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree

from tradewind.algebra.operators.base import walk
from tradewind.backbone.channels import Reader, create, delete
from tradewind.errors import RunError
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.runtime.secrets import tables_of
from tradewind.runtime.setting import Setting
from tradewind.runtime.wiring import Wiring
from tradewind.spark.buckets.dispatch import needs_arrival
from tradewind.spark.channels.inlets import Inlets
from tradewind.spark.channels.outlets import Outlet
from tradewind.spark.channels.tickets import Tickets
from tradewind.spark.delivery import Wish
from tradewind.spark.engine import Engine
from tradewind.spark.intake import Intake
from tradewind.spark.memory import last_commit, write_commit
from tradewind.spark.query import Running
from tradewind.spark.session import Session
from tradewind.spark.sources.reading import Folders, reader

Turn = Callable[[], AbstractContextManager[None]]
_REHEARSAL = "rehearsal"
_SOME = 3
"""Commits of each channel that are rehearsed with."""


class StandsStillError(RunError):
    """A batch was to begin where none is to any more."""


class Brake:
    """Lets the batches of a fragment take their turns until it is pulled: from then on none begins any more."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._batch = threading.Lock()
        self.pulled = False

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A batch is done within this."""
        with self._batch:
            if self.pulled:
                raise StandsStillError("the fragment is to stand still.")
            with self._turn():
                yield

    def pull(self, patience: float) -> None:
        """Let no batch begin, and wait for the end of one that is under way."""
        self.pulled = True
        if self._batch.acquire(timeout=patience):
            self._batch.release()


@dataclass(frozen=True)
class Assembling:
    """Puts the fragments of a setting together."""

    setting: Setting
    wiring: Wiring

    def fragment(self, fragment: Fragment, spark: Session, starts: int, turn: Turn) -> Running:
        """A fragment as it runs, from what its folder holds; `starts` says how often the setting was started."""
        setting, folder = self.setting, self.setting.folder(fragment)
        epoch = setting.epoch(fragment.name, starts)
        return Running(
            spark,
            self._engine(fragment, spark, folder),
            self._intake(fragment, folder, fragment.name),
            [Wish(name, fragment.graph[name], setting.found.queries[name].tentative) for name in fragment.answers],
            {name: setting.sinks[name] for name in fragment.answers},
            folder,
            lambda report: setting.on_batch(replace(report, fragment=fragment.name, site=fragment.site)),
            self._outlets(fragment, {name: name for name in fragment.outputs}, fragment.name, epoch),
            turn,
        )

    def catch_up(self, fragment: Fragment, spark: Session, starts: int, upto: Mapping[str, int], turn: Turn) -> None:
        """Let a fragment that stands still do what its channels hold up to some commits, and nothing after them."""
        folder = self.setting.folder(fragment)
        commit = last_commit(folder / "memory")
        if commit.batch >= 0:
            # Spark has been told of more than is to be done: it counts anew, from where the fragment stands.
            write_commit(folder / "memory", replace(commit, notes={**commit.notes, "begins": commit.batch + 1}))
        for name in ("offsets", "tickets"):
            rmtree(folder / name, ignore_errors=True)
        running = self.fragment(fragment, spark, starts, turn)
        positions = {name: commit.notes.get("positions", {}).get(name, 0) for name in fragment.inputs}
        behind = [name for name, number in positions.items() if number < upto[name]]
        try:
            if running.intake.inlets is not None and behind:
                for name in behind:
                    address = running.intake.inlets.addresses[name]
                    for placed in Reader(self.wiring.connection, address).commits(positions[name], upto=upto[name]):
                        running.intake.inlets.tickets.issue(name, placed)
                running.start()
                running.wait()
        finally:
            running.stop()
            running.engine.release()

    def rehearse(self, fragment: Fragment, spark: Session, folder: Path, reads_as: str, turn: Turn) -> None:
        """Do aside, and for nobody, what a fragment that is to come here would do with the newest that its channels
        hold: the first batch of a kind takes many times as long as the others. It reads under a name of its own.
        """
        connection, site = self.wiring.connection, fragment.site
        channels = {name: f"{_REHEARSAL}-{place}" for place, name in enumerate(fragment.outputs)}
        rmtree(folder, ignore_errors=True)
        for channel in channels.values():
            create(connection, self.wiring.address(site, channel))
        try:
            # Twice: the second time there is something to remember.
            for last in (slice(-_SOME, -1), slice(-1, None)):
                engine = self._engine(fragment, spark, folder)
                intake = self._intake(fragment, folder, reads_as)
                outlets = self._outlets(fragment, channels, _REHEARSAL, 0)
                if intake.inlets is not None:
                    for name, address in intake.inlets.addresses.items():
                        for placed in Reader(connection, address).commits(0)[last]:
                            intake.inlets.tickets.issue(name, placed)
                running = Running(spark, engine, intake, [], {}, folder, outlets=outlets, turn=turn)
                try:
                    running.start()
                    running.wait()
                finally:
                    running.stop()
                    engine.release()
        finally:
            for channel in channels.values():
                delete(connection, self.wiring.address(site, channel))
            rmtree(folder, ignore_errors=True)

    def buckets(self, fragment: Fragment) -> int:
        """Into how many buckets a fragment deals what it remembers: as many as it did when it began."""
        noted = last_commit(self.setting.folder(fragment) / "memory").notes.get("buckets")
        return int(noted or max(1, min(self.setting.found.sites[fragment.site].cores, os.cpu_count() or 1)))

    def _engine(self, fragment: Fragment, spark: Session, folder: Path) -> Engine:
        setting = self.setting
        origins: dict[str, tuple[str, ...]] = {}
        for stream, origin in fragment.sources:
            origins[stream] = (*origins.get(stream, ()), origin)
        for name in fragment.inputs:
            known = setting.deployed.channels[name].origins
            origins[name] = tuple(f"{stream}/{origin}" for stream, origin in known)
        return Engine.at(
            spark,
            fragment.graph,
            folder / "memory",
            origins,
            given=dict(fragment.inputs),
            horizon=setting.horizons.get(fragment.name, setting.horizon),
            buckets=self.buckets(fragment),
            **tables_of(setting.found, fragment.site, setting.bounds),
        )

    def _outlets(self, fragment: Fragment, channels: Mapping[str, str], name: str, epoch: int) -> dict[str, Outlet]:
        """What a fragment writes to, each by the name of the result that goes there."""
        connection, address = self.wiring.connection, self.wiring.address
        return {
            result: Outlet(connection, address(fragment.site, channel), name, epoch)
            for result, channel in channels.items()
        }

    def _intake(self, fragment: Fragment, folder: Path, reads_as: str) -> Intake:
        setting = self.setting
        every = [(name, origin) for name, stream in setting.found.streams.items() for origin in stream.origins]
        arrival = _order_matters(setting.deployed, fragment)
        inlets = None
        if fragment.inputs:
            addresses = {name: self.wiring.address(fragment.site, name) for name in fragment.inputs}
            tickets = Tickets(folder / "tickets", list(addresses))
            inlets = Inlets(self.wiring.connection, addresses, reads_as, tickets, one_each=arrival)
        folders = Folders(setting.base, setting.state, folder)
        readers = [
            reader(setting.found.streams[stream], stream, origin, folders, bounds=setting.bounds)
            for stream, origin in fragment.sources
        ]
        return Intake(readers, inlets, [every.index(place) for place in fragment.sources], arrival)


def _order_matters(deployed: Deployed, fragment: Fragment) -> bool:
    """Whether something here, or behind what goes out from here, depends on the order in which rows arrive."""
    own = {*fragment.operators, *fragment.inputs.values()}
    ordered = [node for one in deployed.fragments for node in one.operators if needs_arrival(node)]
    return any(node in own for node in walk(*ordered))

"""Sites that have joined a coordinator, each with a real line to it, and nothing that would run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.backbone.servers import eventually
from tradewind.runtime.cluster.control import Control
from tradewind.runtime.cluster.coordinator import Coordinator
from tradewind.runtime.cluster.desired import opened
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.trust.identity import Identity


def joined(coordinator: Coordinator, site: str, folder: Path) -> Identity:
    _, csr = Identity.requested(folder, site)
    answer = coordinator.join(coordinator.token(site, 60), csr.decode())
    return Identity.received(
        folder, site, answer["certificate"].encode(), answer["ca"].encode(), answer["verifying_key"]
    )


class Agent:
    """What takes in what is wanted, and reports."""

    def __init__(self, line: Control, identity: Identity, site: str, said: list[str]) -> None:
        self.line, self.identity, self.site, self.said = line, identity, site, said
        self.epoch, self.number = -1, 0

    def look(self) -> int:
        if (record := self.line.news()) is not None:
            self.epoch = opened(record, self.identity.verifying_key).epoch
        self.number += 1
        self.line.tell(
            SiteReport(site=self.site, agent="a", number=self.number, epoch=max(self.epoch, 0), state="idle")
        )
        return self.epoch

    def has(self, epoch: Callable[[], int]) -> None:
        eventually("the agent has what is wanted", lambda: self.look() >= epoch())


@contextmanager
def at_work(
    coordinator: Coordinator,
    site: str,
    folder: Path,
    asked: Callable[[dict[str, Any]], Any] = repr,
    renewed: Callable[[], None] = lambda: None,
) -> Iterator[Agent]:
    identity = joined(coordinator, site, folder)
    said: list[str] = []
    line = Control(f"127.0.0.1:{coordinator.port}", site, identity, asked, say=said.append, renewed=renewed)
    try:
        yield Agent(line, identity, site, said)
    finally:
        line.close()

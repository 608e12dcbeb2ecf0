"""What a run of many sites is made of, and how it is to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.wiring import Here, Network
from tradewind.spark.query import Report
from tradewind.spark.sinks import Sink
from tradewind.spark.sources.bounds import Bounds

_STARTS = 20
"""Bits of an epoch that count the starts of a run."""


@dataclass(frozen=True)
class Setting:
    """A deployment with all that its fragments need, whether they all run in this process or those of one site do."""

    found: Deployment
    deployed: Deployed
    sinks: Mapping[str, Sink]
    state: Path
    horizon: int | None
    until_done: bool
    intervals: Mapping[str, float]
    on_batch: Callable[[Report], None]
    network: Network = field(default_factory=Network)
    here: Here | None = None
    """The one site that runs in this process; without it all do."""
    horizons: Mapping[str, int | None] = field(default_factory=dict)
    """How late rows may come to fragments for which another time holds."""
    held: frozenset[str] = frozenset()
    """The fragments that stand still."""
    terms: Mapping[str, int] = field(default_factory=dict)
    """Of fragments that have moved, a number that grows with each move."""
    guests: frozenset[str] = frozenset()
    """Those who may be subscribed to channels here besides the fragments and links that read them."""

    own_folders: tuple[Path, ...] = ()
    """Folders besides its state that no stream, delivery or table may name."""

    @property
    def own(self) -> tuple[Fragment, ...]:
        """The fragments that run in this process."""
        return tuple(one for one in self.deployed.fragments if self.runs(one))

    def runs(self, fragment: Fragment) -> bool:
        """Whether a fragment runs in this process."""
        return self.here is None or fragment.site == self.here.site

    @property
    def base(self) -> Path:
        """The folder that paths are relative to."""
        return Path(self.found.name).resolve().parent

    @property
    def bounds(self) -> Bounds:
        """Which files may be touched: at an agent's site those below its root, and never what is kept here."""
        return Bounds(self.base, (self.state, *self.own_folders), within=self.here is not None)

    def folder(self, fragment: Fragment) -> Path:
        """Where a fragment keeps its state."""
        return self.state / "fragments" / fragment.name

    def epoch(self, fragment: str, starts: int = 0) -> int:
        """The epoch of a fragment: one that came to another site is younger than it was before, however often it was
        started there.
        """
        return (self.terms.get(fragment, 0) << _STARTS) + starts

    @property
    def since(self) -> dict[str, int]:
        """The first epochs of channels whose writers are where they are now."""
        return {
            channel: self.epoch(one.name)
            for one in self.deployed.fragments
            if one.name in self.terms
            for channel in one.outputs
        }

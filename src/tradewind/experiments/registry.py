"""The experiments that `tradewind experiment` knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tradewind.experiments import dashboards, figure_3, figure_3_varied, figure_4, jetstream, scenarios
from tradewind.experiments.result import Result


@dataclass(frozen=True, slots=True)
class Experiment:
    """A run that is set beside something published, or beside what was asked for."""

    name: str
    shows: str
    run: Callable[[int, Path], Result]
    """Takes the number of seeds and the folder for pictures."""


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("figure_3", figure_3.SHOWS, figure_3.run),
    Experiment("figure_3_varied", figure_3_varied.SHOWS, figure_3_varied.run),
    Experiment("figure_4", figure_4.SHOWS, figure_4.run),
    Experiment("scenarios", scenarios.SHOWS, scenarios.run),
    Experiment("jetstream_figure_1", jetstream.SHOWS, jetstream.run),
    Experiment("dashboards", dashboards.SHOWS, dashboards.run),
)

"""The experiments that `tradewind experiment` knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tradewind.experiments import figure_3, figure_3_varied, figure_4
from tradewind.experiments.result import Result


@dataclass(frozen=True, slots=True)
class Experiment:
    """A run that is set beside something published."""

    name: str
    shows: str
    run: Callable[[int, Path], Result]
    """Takes the number of seeds and the folder for pictures."""


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment("figure_3", figure_3.SHOWS, figure_3.run),
    Experiment("figure_3_varied", figure_3_varied.SHOWS, figure_3_varied.run),
    Experiment("figure_4", figure_4.SHOWS, figure_4.run),
)

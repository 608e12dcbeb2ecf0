"""On which assumptions the saving of Figure 3 rests: the same comparison on workloads with one thing changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tradewind.experiments.figure_3 import PUBLISHED, RULE, compare, measure
from tradewind.experiments.result import Result

SHOWS = "On which assumptions about the workload the saving of figure_3 rests."

VARIED = {
    "as in figure_3": RULE,
    "10 queries": replace(RULE, queries=10),
    "20 streams": replace(RULE, streams=20),
    "50 streams": replace(RULE, streams=50),
    "joins keep 1 % to 10 %": replace(RULE, kept=(0.01, 0.1)),
    "joins keep 9 % to 10 %": replace(RULE, kept=(0.09, 0.1)),
    "joins keep 80 % to 180 %": replace(RULE, kept=(0.8, 1.8)),
    "rates from 0.01 to 2 MB/s": replace(RULE, rates=(0.01, 2.0)),
    "50 streams, joins keep 9 % to 10 %": replace(RULE, streams=50, kept=(0.09, 0.1)),
}


def run(seeds: int, _: Path) -> Result:
    """Measure each variation."""
    compared = {label: compare(measure(rule, seeds)) for label, rule in VARIED.items()}
    kinds = list(next(iter(compared.values())))
    rows = tuple(
        (label, *(f"{spread.mean:.0%} ± {spread.deviation:.0%}" for spread in savings.values()))
        for label, savings in compared.items()
    )
    data = {label: {kind: spread.json() for kind, spread in found.items()} for label, found in compared.items()}
    caption = (PUBLISHED, f"Measured over {seeds} seeds; each saving is a mean ± the deviation over the seeds.")
    return Result("Figure 3, varied", ("workload", *kinds), rows, caption, data={"seeds": seeds, "variations": data})

"""Figure 3 of Seshadri et al.: order and places chosen together, against order first and places second.

64 sites, 5 streams, 100 queries of 2 to 5 joins (see `workload`). The paper compares its integrated planner, which
re-uses what runs, with a phased one, which as described does not. That comparison mixes two causes, so both planners
are run with and without re-use, and the phased one without re-use is counted in two ways.
"""

from __future__ import annotations

from pathlib import Path

from tradewind.experiments.chart import Line, Panel, draw, painter, text
from tradewind.experiments.cumulative import Costs, Spread, deploy, savings
from tradewind.experiments.result import Result
from tradewind.experiments.workload import Rule, workload
from tradewind.placement.exact import exact
from tradewind.placement.phased import phased

SHOWS = "What choosing order, places and re-use together saves, against order first and places second (64 sites)."

PUBLISHED = "Published: the integrated approach costs more than 50 % less than the phased one."

RULE = Rule(nodes=64, streams=5, queries=100)

Runs = dict[str, list[Costs]]

AGAINST = {
    "phased, each query for itself (the paper's comparison)": ("phased", "alone"),
    "phased, each query for itself, equal parts counted once": ("phased", "once"),
    "phased with re-use": ("phased, re-use", "once"),
}


def measure(rule: Rule, seeds: int) -> Runs:
    """Both planners, with and without re-use, on the workloads of some seeds."""
    found: Runs = {"phased": [], "phased, re-use": [], "integrated": [], "integrated, re-use": []}
    for seed in range(seeds):
        work = workload(rule, seed)
        found["phased"].append(deploy(work, phased, reuse=False))
        found["phased, re-use"].append(deploy(work, phased, reuse=True))
        found["integrated"].append(deploy(work, exact, reuse=False))
        found["integrated, re-use"].append(deploy(work, exact, reuse=True))
    return found


def compare(runs: Runs) -> dict[str, Spread]:
    """By how much the integrated planner is cheaper in the end: with re-use against each baseline, and without."""
    ours = [costs.once[-1] for costs in runs["integrated, re-use"]]
    found = {
        f"integrated with re-use against {label}": savings(ours, [getattr(costs, way)[-1] for costs in runs[name]])
        for label, (name, way) in AGAINST.items()
    }
    without = [[costs.alone[-1] for costs in runs[name]] for name in ("integrated", "phased")]
    found["integrated against phased, both without re-use"] = savings(without[0], without[1])
    return found


def panels(runs: Runs) -> tuple[Panel, Panel]:
    """The paper's picture, and the same on the scale of what is shared."""
    ours = Line("integrated, re-use", tuple(costs.once for costs in runs["integrated, re-use"]))
    return (
        Panel(
            "As in the paper",
            (
                Line("phased", tuple(costs.alone for costs in runs["phased"])),
                Line("integrated, no re-use", tuple(costs.alone for costs in runs["integrated"])),
                ours,
            ),
        ),
        Panel(
            "What is shared counts once",
            (
                Line("phased, shared by chance", tuple(costs.once for costs in runs["phased"])),
                Line("phased, re-use", tuple(costs.once for costs in runs["phased, re-use"])),
                ours,
            ),
        ),
    )


def run(seeds: int, out: Path) -> Result:
    """Measure, draw and compare."""
    painter()
    runs = measure(RULE, seeds)
    compared = compare(runs)
    measured = "; ".join(f"{label} {spread.mean:.1%} ± {spread.deviation:.1%}" for label, spread in compared.items())
    caption = (PUBLISHED, f"Measured, over {seeds} seeds, less by: {measured}.")
    title = f"{RULE.nodes} sites, {RULE.streams} streams, {RULE.queries} queries"
    drawn = panels(runs)
    return Result(
        title,
        ("saving", "mean ± deviation (least to most)"),
        tuple((label, spread.percent()) for label, spread in compared.items()),
        caption,
        "\n\n".join(text(panel) for panel in drawn),
        (draw(out / "figure_3.png", title, drawn, " ".join(caption)),),
        {"seeds": seeds, "savings": {label: spread.json() for label, spread in compared.items()}},
    )

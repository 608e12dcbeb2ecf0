"""`tradewind plan`: what runs where, and what crosses each link, beside shipping everything."""

from __future__ import annotations

import importlib
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from tradewind.cli.aligning import aligned, amount
from tradewind.cli.check import AsJson, File
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.map_svg import draw_map
from tradewind.placement.planners import PLANNERS
from tradewind.placement.report import Line, Report

Name = Annotated[
    str, typer.Option("--planner", help=f"How to choose: {', '.join(PLANNERS)}.", metavar="NAME", show_default=True)
]
Map = Annotated[Path | None, typer.Option("--svg", help="Also draw the network and the flows to this SVG file.")]
Measured = Annotated[
    bool, typer.Option("--measured", help="Look at the data, quickly, for figures that FILE does not declare.")
]

UNITS = {"dollars": "$/h", "bytes": "bytes/s", "latency": "ms", "load": "of the cores", "utility": "$/h"}
"""What the cost of a plan is counted in, by objective."""


def plan(
    file: File, planner: Name = "exact", measured: Measured = False, svg: Map = None, as_json: AsJson = False
) -> None:
    """Choose where FILE's operators run, in which order, and what they share; nothing is run."""
    found = opened(file, measured=measured)
    begin = time.perf_counter()
    chosen = choose_within_errors(found, planner)
    seconds = time.perf_counter() - begin
    report = Report(chosen)
    for warning in chosen.problem.warnings:
        typer.echo(f"warning: {warning}", err=True)
    if svg is not None:
        svg.write_text(draw_map(report), encoding="utf-8")
        typer.echo(f"drawn to {svg}", err=True)
    typer.echo(json.dumps(report.as_data(seconds), indent=2) if as_json else as_text(report, seconds))


def opened(file: Path, *, measured: bool) -> Deployment:
    """The deployment of a file, if wished with figures measured from its data; what was measured is said on stderr."""
    found = deployment(file)
    if not measured:
        return found
    # Loaded on first use: the parsers live with Spark, and planning by what is declared should not wait for it.
    measuring = importlib.import_module("tradewind.spark.sources.measuring")
    filled: Deployment
    filled, lines = measuring.measured(found, file.resolve().parent)
    for line in lines:
        typer.echo(f"measured: {line}", err=True)
    return filled


def as_text(report: Report, seconds: float) -> str:
    """Sites with their operators, links with their flows, and the cost beside that of shipping everything."""
    chosen = report.chosen
    objective = chosen.problem.deployment.objective
    unit = UNITS.get(objective, "")
    parts = ["What runs where", "===============", *_sites(report)]
    parts += ["", "What crosses the links", "======================", *_links(report)]
    shipped = f"everything shipped: {amount(chosen.shipped_cost)} {unit}"
    parts += ["", f"{objective}: {amount(chosen.cost)} {unit}; {shipped}"]
    if objective in ("dollars", "bytes") and chosen.cost > 0:
        parts[-1] += f" ({chosen.shipped_cost / chosen.cost:,.1f} times as much)"
    if chosen.bound is not None and chosen.cost > 0:
        gap = (chosen.cost - chosen.bound) / chosen.cost
        which = "no plan that was weighed is" if chosen.problem.left_out else "no plan is"
        parts.append(f"{which} better" if gap < 1e-6 else f"{which} more than {gap:.1%} better")
    if chosen.note:
        parts.append(chosen.note)
    parts += [approximation(report, query) for query in chosen.approximated]
    parts.append(f"planner {chosen.planner}, {seconds:.2f} s")
    return "\n".join(parts)


def approximation(report: Report, query: str) -> str:
    """How far off a query's answer may be, and why that saves."""
    error = report.chosen.problem.deployment.queries[query].error
    return f"{query} within {error:g}: {report.chosen.approximated[query]}"


def _sites(report: Report) -> list[str]:
    by_site: dict[str, list[Line]] = {}
    for line in report.lines:
        by_site.setdefault(line.site, []).append(line)
    found: list[str] = []
    for place in report.network.places:
        if place.name not in by_site:
            continue
        busy = sum(line.cores for line in by_site[place.name])
        found.append(f"{place.name}: {busy:.3g} of {place.cores:g} cores busy")
        rows = [(line.id, shown(line), f"{amount(line.rows_per_second)} rows/s", f"{amount(line.bytes_per_second)} B/s")
                for line in by_site[place.name]]  # fmt: skip
        found += [f"  {text}" for text in aligned(rows)]
    return found


def shown(line: Line) -> str:
    """An operator in words, with what it reads and how it is split over the workers of its site."""
    reads = f" ← {', '.join(line.inputs)}" if line.inputs else ""
    parts = max((share.parts for share in line.shares), default=1)
    split = ""
    if parts > 1:
        by = ", ".join(line.shares[0].keys)
        where = ", ".join(str(share.worker) for share in line.shares if share.parts > 1)
        first = "cut first" if line.shares[0].before else "split"
        split = f" [{first} by {by} on workers {where}]"
    return f"{_short(line.label)}{reads}{split}"


def _short(text: str, most: int = 70) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _links(report: Report) -> list[str]:
    planned = {(link.start, link.end): link for link in report.links()}
    shipped = {(link.start, link.end): link for link in report.links(report.chosen.shipped)}
    rows = [("link", "planned", "$/h", "everything shipped", "$/h")]
    for ends in dict.fromkeys([*planned, *shipped]):
        own, all_ = planned.get(ends), shipped.get(ends)
        rows.append((
            f"{ends[0]} → {ends[1]}",
            f"{amount(own.bytes_per_second)} B/s" if own else "-",
            amount(own.usd_per_hour) if own else "-",
            f"{amount(all_.bytes_per_second)} B/s" if all_ else "-",
            amount(all_.usd_per_hour) if all_ else "-",
        ))  # fmt: skip
    total = [
        (sum(link.bytes_per_second for link in some.values()), sum(link.usd_per_hour for link in some.values()))
        for some in (planned, shipped)
    ]
    rows.append(("all links", f"{amount(total[0][0])} B/s", amount(total[0][1]), f"{amount(total[1][0])} B/s",
                 amount(total[1][1])))  # fmt: skip
    return aligned(rows)

"""`tradewind explain`: what a deployment's queries mean, and what runs for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tradewind.algebra.drawing.svg import draw_svg
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.cli.check import AsJson, File
from tradewind.cli.explained import Explained, explained
from tradewind.cli.plan import Measured, opened
from tradewind.rewrites.engine import Fired

Query = Annotated[str | None, typer.Argument(help="Only this query; all when left out.", show_default=False)]
Svg = Annotated[Path | None, typer.Option("--svg", help="Also draw the graph that runs to this SVG file.")]
AsWritten = Annotated[bool, typer.Option("--as-written", help="Leave the graph as it was written: apply no rules.")]


def explain(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    query: Query = None,
    measured: Measured = False,
    svg: Svg = None,
    as_written: AsWritten = False,
    as_json: AsJson = False,
) -> None:
    """Show the operators of FILE's queries as written and as they run, which rules fired and why, and where each
    operator runs and why there.
    """
    found = opened(file, measured=measured)
    written = found.graph(*([query] if query else []))
    done = Explained(written) if as_written else explained(found, written.names)
    if svg is not None:
        svg.write_text(draw_svg(done.graph), encoding="utf-8")
        typer.echo(f"drawn to {svg}", err=True)
    if as_json:
        typer.echo(json.dumps(as_data(written, done), indent=2))
        return
    typer.echo("\n".join([as_text(written, done), *done.where]))


def as_data(written: Graph, done: Explained) -> dict[str, object]:
    """All that explain knows, as plain data."""
    return {
        "queries": {name: {"columns": str(node.schema)} for name, node in written.results},
        "written": written.to_json(),
        "rewritten": done.graph.to_json(),
        "rules": [{"rule": f.rule, "before": f.before, "after": f.after, "reason": f.reason} for f in done.trace],
        "chosen": list(done.chosen),
    } | done.data


def as_text(written: Graph, done: Explained) -> str:
    """The graph as it was written, the graph that runs, the rules between them, and what the planner chose besides."""
    parts = ["As written", "==========", draw_text(written)]
    if done.graph != written:
        parts += ["", "After the rules", "===============", draw_text(done.graph)]
    if done.trace:
        parts += ["", "Rules that fired", "================", *fired(done.trace)]
    elif done.where:
        parts += ["", "No rule fired: there is nothing to improve."]
    if done.chosen:
        title = "Chosen for these sites and rates"
        parts += ["", title, "=" * len(title), *done.chosen]
    return "\n".join(parts)


def fired(trace: Sequence[Fired]) -> list[str]:
    """Each rule once with its reason, how often it fired, and its first use."""
    times = Counter(one.rule for one in trace)
    first = {one.rule: one for one in reversed(trace)}
    lines: list[str] = []
    for rule in dict.fromkeys(one.rule for one in trace):
        count = f" ({times[rule]} times)" if times[rule] > 1 else ""
        one = first[rule]
        lines += [f"{rule}{count}: {one.reason}", f"    {one.before}", f"  → {one.after}"]
    return lines

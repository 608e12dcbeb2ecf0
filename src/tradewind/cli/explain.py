"""`tradewind explain`: what a deployment's queries mean, and what the rules make of them."""

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
from tradewind.cli.fragments import fragments_of, told
from tradewind.cli.plan import Measured, opened, tree
from tradewind.placement.approximating import choose_within_errors
from tradewind.placement.report import Report
from tradewind.rewrites.engine import Fired, Rewritten, rewrite

Query = Annotated[str | None, typer.Argument(help="Only this query; all when left out.", show_default=False)]
Svg = Annotated[Path | None, typer.Option("--svg", help="Also draw the rewritten graph to this SVG file.")]
AsWritten = Annotated[bool, typer.Option("--as-written", help="Leave the graph as it was written: apply no rules.")]


def explain(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    query: Query = None,
    measured: Measured = False,
    svg: Svg = None,
    as_written: AsWritten = False,
    as_json: AsJson = False,
) -> None:
    """Show the operators of FILE's queries as written and after the rules, which rules fired and why, and where each
    operator runs and why there.
    """
    found = opened(file, measured=measured)
    written = found.graph(*([query] if query else []))
    done = Rewritten(written, ()) if as_written else rewrite(written)
    if svg is not None:
        svg.write_text(draw_svg(done.graph), encoding="utf-8")
        typer.echo(f"drawn to {svg}", err=True)
    report = None if as_written else Report(choose_within_errors(found))
    if as_json:
        placed: dict[str, object] = {}
        if report is not None:
            placed = {"operators": report.as_data(0.0)["operators"], "fragments": fragments_of(report, found)}
        typer.echo(json.dumps(as_data(written, done) | placed, indent=2))
        return
    typer.echo(as_text(written, done))
    if report is not None:
        for name in written.names:
            typer.echo("\n".join(["", "Where it runs", "=============", *tree(report, name)]))
        fragments = fragments_of(report, found)
        if len(fragments) > 1:
            typer.echo("\n".join(["", "What runs together", "==================", *told(fragments)]))


def as_data(written: Graph, done: Rewritten) -> dict[str, object]:
    """All that explain knows, as plain data."""
    return {
        "queries": {name: {"columns": str(node.schema)} for name, node in written.results},
        "written": written.to_json(),
        "rewritten": done.graph.to_json(),
        "rules": [{"rule": f.rule, "before": f.before, "after": f.after, "reason": f.reason} for f in done.trace],
    }


def as_text(written: Graph, done: Rewritten) -> str:
    """The graph before, the graph after, and the rules between them."""
    parts = ["As written", "==========", draw_text(written)]
    if done.trace:
        parts += ["", "After the rules", "===============", draw_text(done.graph)]
        parts += ["", "Rules that fired", "================", *fired(done.trace)]
    elif done.graph == written:
        parts += ["", "No rule fired: there is nothing to improve."]
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

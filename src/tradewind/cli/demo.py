"""`tradewind demo`: the CDN question checked, explained, and answered by the interpreter, with every claim computed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from importlib.resources import as_file, files
from typing import Annotated, Any

import typer
from rich.console import Console

from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Partial
from tradewind.apps.cdn import requests
from tradewind.cli.check import summary
from tradewind.cli.explain import fired
from tradewind.cli.rows import show
from tradewind.errors import TradewindError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment
from tradewind.interpreter.run import Run
from tradewind.rewrites.engine import rewrite

Log = dict[str, dict[str, list[tuple[Any, ...]]]]
"""Requests by stream and site."""

_QUERY = "top_domains"
_STREAM = "requests"

Name = Annotated[str, typer.Argument(help="Which demo: cdn.")]
Rows = Annotated[int, typer.Option("--rows", min=1, max=200_000, help="Requests that each site logs.")]
Seed = Annotated[int, typer.Option("--seed", help="Another seed makes another log.")]


def demo(name: Name = "cdn", rows: Rows = 2_000, seed: Seed = 1) -> None:
    """Run a ready-made example from nothing: the top domains of a CDN, per minute, over all its sites."""
    demos: dict[str, Callable[[int, int], None]] = {"cdn": _cdn}
    if name not in demos:
        raise unknown("demo", name, demos)
    demos[name](rows, seed)


def _cdn(rows: int, seed: int) -> None:
    console = Console(highlight=False)
    with as_file(files("tradewind.apps") / "cdn.yaml") as path:
        found = deployment(path)
    console.rule("1. check", align="left")
    console.print(f"cdn.yaml: {summary(found)}; no problems.")
    console.rule("2. explain", align="left")
    written = found.graph(_QUERY)
    done = rewrite(written)
    console.print("[bold]As written[/bold]")
    console.print(draw_text(written), markup=False, soft_wrap=True)
    console.print("[bold]After the rules:[/bold] each site counts its own requests, and only counts travel")
    console.print(draw_text(done.graph), markup=False, soft_wrap=True)
    for line in fired(done.trace):
        if not line.startswith("  "):
            console.print(f"  {line}", markup=False, soft_wrap=True)
    console.rule("3. answer", align="left")
    data = _log(found, rows, seed)
    _answer(console, written, done.graph, data)


def _log(found: Deployment, rows: int, seed: int) -> Log:
    stream = found.streams[_STREAM]
    return {_STREAM: {site: requests(site, rows, stream.source.schema, seed) for site in stream.origins}}


def _answer(console: Console, written: Graph, rewritten: Graph, data: Log) -> None:
    total = sum(len(rows) for rows in data[_STREAM].values())
    console.print(
        f"{total:,} generated requests at {', '.join(data[_STREAM])}, in ten batches each, a little out of order"
    )
    start = time.perf_counter()
    run, central = Run(rewritten), Run(written)
    for batch in _in_batches(data, 10):
        run.feed(batch)
        central.feed(batch)
        now = f"{len(run.final(_QUERY))} rows final, {len(run.tentative(_QUERY))} tentative"
        console.print(f"  fed {sum(len(rows) for rows in batch[_STREAM].values()):,} requests: {now}", style="dim")
    run.end()
    central.end()
    seconds = time.perf_counter() - start
    schema = written[_QUERY].schema
    rows = sorted(run.answer(_QUERY).elements(), key=lambda row: (row[0], -row[2], row[1]))
    show(
        [row for row in rows if row[0] == rows[0][0]],
        schema,
        f"{_QUERY}, first minute of {len({r[0] for r in rows})}",
        console,
    )
    counted = _by_hand(data, written)
    _claim(console, "equal to the query as written", run.answer(_QUERY) == central.answer(_QUERY))
    _claim(console, "equal to counting all requests by hand", run.answer(_QUERY) == counted)
    sent = sum(len(run.log(node)) for node in rewritten if isinstance(node, Partial))
    console.print(f"rows that would leave the sites: {sent:,} partial counts instead of {total:,} requests")
    console.print(f"answered twice by the interpreter, which is slow on purpose, in {seconds:.1f} s", style="dim")


def _in_batches(data: Log, parts: int) -> list[Log]:
    """The rows of all sites cut into so many batches, side by side."""
    longest = max(len(rows) for rows in data[_STREAM].values())
    size = -(-longest // parts)
    return [
        {_STREAM: {site: rows[i : i + size] for site, rows in data[_STREAM].items()}} for i in range(0, longest, size)
    ]


def _by_hand(data: Log, written: Graph) -> Counter[tuple[Any, ...]]:
    """The same answer by a few lines that know nothing of operators: count, sort, cut."""
    schema = written.sources()[_STREAM].schema
    ts, domain, status = (schema.index(name) for name in ("ts", "domain", "status"))
    hits: Counter[tuple[int, str]] = Counter()
    for rows in data[_STREAM].values():
        for row in rows:
            if row[status] < 500:
                hits[row[ts] - row[ts] % 60_000_000, row[domain]] += 1
    answer: Counter[tuple[Any, ...]] = Counter()
    for minute in {minute for minute, _ in hits}:
        ranked = sorted(((-n, d) for (m, d), n in hits.items() if m == minute))[:10]
        answer.update((minute, d, -n) for n, d in ranked)
    return answer


def _claim(console: Console, what: str, holds: bool) -> None:
    console.print(f"{what}: {'yes' if holds else 'NO'}", style="bold green" if holds else "bold red")
    if not holds:
        raise TradewindError(f"the demo's answer is not {what}.", hint="this is a bug; please report it with the seed.")

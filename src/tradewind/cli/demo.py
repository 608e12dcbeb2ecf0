"""`tradewind demo`: ready-made applications with generated data, run on Spark, with every claim computed."""

from __future__ import annotations

import importlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.operators.aggregation import Partial
from tradewind.cli.check import summary
from tradewind.cli.explain import fired
from tradewind.cli.progress import Progress
from tradewind.cli.rows import show
from tradewind.errors import InputError, TradewindError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.rewrites.engine import rewrite
from tradewind.runtime.deployment import runnable

Answers = dict[str, Counter[tuple[Any, ...]]]

_QUERY = "top_domains"

Name = Annotated[str, typer.Argument(help="Which demo: cdn, feeds, fish or battalion.")]
Rows = Annotated[int, typer.Option("--rows", min=1, max=2_000_000, help="Requests that each site logs (cdn).")]
Scale = Annotated[float, typer.Option("--scale", min=0.01, max=100.0, help="How much data (feeds, fish, battalion).")]
Seed = Annotated[int, typer.Option("--seed", help="Another seed makes other data.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Keep the file, the data and the answers there.")]


def demo(name: Name = "cdn", rows: Rows = 20_000, scale: Scale = 1.0, seed: Seed = 1, folder: Folder = None) -> None:
    """Run a ready-made application from nothing, on Spark at one site, and check its answers."""
    demos: dict[str, Callable[[Path, Console], None]] = {
        "cdn": lambda place, console: _cdn(place, console, rows, seed),
        "feeds": lambda place, console: _expected(place, console, "feeds", seed, scale),
        "fish": lambda place, console: _expected(place, console, "fish", seed, scale),
        "battalion": lambda place, console: _expected(place, console, "battalion", seed, scale),
    }
    if name not in demos:
        raise unknown("demo", name, demos)
    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty.", hint="name a new folder.")
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory(prefix="tradewind-demo-") as temporary:
        demos[name](folder or Path(temporary), console)


def _cdn(folder: Path, console: Console, rows: int, seed: int) -> None:
    cdn = importlib.import_module("tradewind.apps.cdn")
    found: Deployment = cdn.prepare(folder, seed, rows)
    console.rule("1. check", align="left")
    console.print(f"cdn.yaml: {summary(found)}; no problems. Read at {', '.join(found.sites)} for this demo.")
    console.rule("2. explain", align="left")
    written = found.graph(_QUERY)
    done = rewrite(written)
    console.print("[bold]As written[/bold]")
    console.print(draw_text(written), markup=False, soft_wrap=True)
    console.print("[bold]After the rules:[/bold] with several sites, each counts its own requests, only counts travel")
    console.print(draw_text(done.graph), markup=False, soft_wrap=True)
    for line in fired(done.trace):
        if not line.startswith("  "):
            console.print(f"  {line}", markup=False, soft_wrap=True)
    partials = sum(isinstance(node, Partial) for node in done.graph)
    console.print(f"{partials} partial aggregates, one for each site that logs requests", style="dim")
    console.rule("3. run", align="left")
    sources = [folder / str(origin.path) for origin in found.streams["requests"].origins.values()]
    answers, plain = _run(found, console, (cdn.PLAIN_TOP_DOMAINS, {"requests": [str(path) for path in sources]}))
    answer = answers[_QUERY]
    schema = written[_QUERY].schema
    ranked = sorted(answer.elements(), key=lambda row: (row[0], -row[2], row[1]))
    first = [row for row in ranked if row[0] == ranked[0][0]]
    show(first, schema, f"{_QUERY}, first minute of {len({row[0] for row in ranked})}", console)
    _claim(console, "equal to plain batch Spark SQL on the same files", answer == plain)


def _run(found: Deployment, console: Console, question: tuple[str, dict[str, list[str]]] | None = None) -> Any:
    """Run a deployment until its data is read; its answers, and beside them what plain Spark SQL says to a question."""
    answers_of = importlib.import_module("tradewind.runtime.answers")
    progress = Progress(False, found)
    begin = time.perf_counter()
    base = Path(found.name).parent
    plain: Counter[tuple[Any, ...]] = Counter()
    with runnable(found).run(state=base / "state", on_batch=progress.batch) as live:
        live.wait()
        answers = {name: answers_of.answer_of(name, query, base) for name, query in found.queries.items()}
        if question is not None:
            asked = importlib.import_module("tradewind.spark.plain").plain_answer(live.spark, *question)
            plain = answers_of.rows_of(asked, found.queries[_QUERY].operator.schema)
    progress.end(time.perf_counter() - begin, "done")
    tentative = sum(1 for answer in answers.values() for row in answer if not row[-1])
    _claim(console, "every row of every answer is final", tentative == 0)
    return {name: Counter({row[:-1]: n for row, n in answer.items()}) for name, answer in answers.items()}, plain


def _expected(folder: Path, console: Console, name: str, seed: int, scale: float) -> None:
    app = importlib.import_module(f"tradewind.apps.{name}")
    expectation = importlib.import_module("tradewind.apps.expectation")
    found, expected = app.prepare(folder, seed, scale)
    console.rule("1. data", align="left")
    console.print(f"{Path(found.name).name}: {summary(found)}; {expected.rows:,} rows made")
    for line in expected.story:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.rule("2. run", align="left")
    answers, _ = _run(found, console)
    console.rule("3. answers", align="left")
    for query, answer in answers.items():
        console.print(f"  {query}: {answer.total():,} rows, {expected.answers[query].total():,} expected")
    wrong = expectation.verify(expected, answers)
    for line in wrong:
        console.print(f"  {line}", markup=False, soft_wrap=True, style="bold red")
    _claim(console, "every row as the data's maker knows it, none missing, none extra", not wrong)


def _claim(console: Console, what: str, holds: bool) -> None:
    console.print(f"{what}: {'yes' if holds else 'NO'}", style="bold green" if holds else "bold red")
    if not holds:
        raise TradewindError(f"the demo's claim does not hold: {what}.", hint="this is a bug; please report it.")

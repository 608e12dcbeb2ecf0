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

from tradewind.cli.check import summary
from tradewind.cli.demo_cdn import cdn
from tradewind.cli.progress import Progress
from tradewind.errors import InputError, TradewindError, unknown
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.deployment import runnable

Answers = dict[str, Counter[tuple[Any, ...]]]

Name = Annotated[str, typer.Argument(help="Which demo: cdn, feeds, fish or battalion.")]
Scale = Annotated[float, typer.Option("--scale", min=0.01, max=100.0, help="How much data (cdn: at most 16).")]
Minutes = Annotated[int, typer.Option("--minutes", min=1, max=60, help="How long the logs last (cdn).")]
Seed = Annotated[int, typer.Option("--seed", help="Another seed makes other data.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Keep the file, the data and the answers there.")]
Page = Annotated[Path, typer.Option("--report", help="Where to write the page that tells the whole story (cdn).")]
OnCluster = Annotated[
    bool, typer.Option("--cluster", help="A coordinator, and a process with a Spark of its own for each site (cdn).")
]


def demo(  # noqa: PLR0917, the command line's options come as parameters
    name: Name = "cdn",
    scale: Scale = 1.0,
    minutes: Minutes = 6,
    seed: Seed = 1,
    folder: Folder = None,
    report: Page = Path("tradewind-cdn.html"),
    cluster: OnCluster = False,
) -> None:
    """Run a ready-made application from nothing, on Spark, and check its answers: `cdn` at thirteen sites with their
    links imitated and counted, the others at one.
    """
    if cluster and name != "cdn":
        raise InputError("only the demo cdn runs as a cluster.", hint="tradewind demo cdn --cluster.")
    demos: dict[str, Callable[[Path, Console], None]] = {
        "cdn": lambda place, console: cdn(
            place, console, _claim, report, seed=seed, cluster=cluster, minutes=minutes, scale=scale
        ),
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


def _run(found: Deployment, console: Console) -> Answers:
    """Run a deployment until its data is read; its answers."""
    answers_of = importlib.import_module("tradewind.runtime.answers")
    progress = Progress(False, found)
    begin = time.perf_counter()
    base = Path(found.name).parent
    with runnable(found).run(state=base / "state", on_batch=progress.batch) as live:
        live.wait()
        answers = {name: answers_of.answer_of(name, query, base) for name, query in found.queries.items()}
    progress.end(time.perf_counter() - begin, "done")
    tentative = sum(1 for answer in answers.values() for row in answer if not row[-1])
    _claim(console, "every row of every answer is final", tentative == 0)
    return {name: Counter({row[:-1]: n for row, n in answer.items()}) for name, answer in answers.items()}


def _expected(folder: Path, console: Console, name: str, seed: int, scale: float) -> None:
    app = importlib.import_module(f"tradewind.apps.{name}")
    expectation = importlib.import_module("tradewind.apps.expectation")
    found, expected = app.prepare(folder, seed, scale)
    console.rule("1. data", align="left")
    console.print(f"{Path(found.name).name}: {summary(found)}; {expected.rows:,} rows made")
    for line in expected.story:
        console.print(f"  {line}", markup=False, soft_wrap=True)
    console.rule("2. run", align="left")
    answers = _run(found, console)
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

"""The demonstration of many sites: a content delivery network, run at all of them here, with every claim computed."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rich.console import Console

from tradewind.cli.aligning import aligned, amount
from tradewind.cli.check import summary
from tradewind.cli.processes import Processes
from tradewind.cli.progress import Progress
from tradewind.runtime.deployment import runnable

Claim = Callable[[Console, str, bool], None]


def _module(name: str) -> Any:
    # Loaded on use: other commands do not need what it loads.
    return importlib.import_module(f"tradewind.{name}")


def cdn(
    folder: Path, console: Console, claim: Claim, report: Path, *, seed: int, cluster: bool = False, **traffic: float
) -> None:
    """Make the data, plan, run, compare with plain Spark, and tell all of it in the terminal and on a page. As a
    cluster, each site is a process with a Spark of its own, and there are fewer of them.
    """
    made, log = _module("apps.cdn.deployment"), _module("apps.cdn.log")
    console.rule("1. data", align="left")
    edges = log.ONE_A_REGION if cluster else log.EDGES
    prepared = made.prepare(folder, seed, log.Traffic(**traffic, edges=edges))
    found = prepared.deployment
    console.print(f"{Path(found.name).name}: {summary(found)}; {prepared.rows:,} requests in {prepared.files} files")
    console.rule("2. plan", align="left")
    planned = _module("runtime.planned").planned(found)
    map_svg, picture = _module("apps.cdn.story").pictures(planned.report.chosen)
    console.print(picture, markup=False, soft_wrap=True)
    console.rule("3. run", align="left")
    told = (_run_cluster if cluster else _run)(found, console, claim)
    console.rule("4. answers", align="left")
    for name, answer in told["answers"].items():
        _show(console, name, answer, found.queries[name].operator.schema)
    for verdict in told["verdicts"]:
        claim(console, verdict.words(), verdict.holds)
    console.rule("5. links", align="left")
    story = _story(prepared, planned, told, map_svg, picture)
    console.print("\n".join(_links(story)), markup=False, soft_wrap=True)
    report.write_text(_module("apps.cdn.page").page(story), encoding="utf-8")
    console.print(f"the whole story, with the map and charts: {report}", style="bold")


def _run(found: Any, console: Console, claim: Claim) -> dict[str, Any]:
    """Run everything to its end; the answers, how they compare with plain Spark's, and what crossed the links."""
    answers_of, comparison = _module("runtime.answers"), _module("apps.cdn.comparison")
    base = Path(found.name).parent
    progress = Progress(False, found)
    begin = time.perf_counter()
    with closing(progress), runnable(found).run(state=base / "state", on_batch=progress.batch) as live:
        while not live.wait(0.2):
            progress.say_links(live)
        progress.close()
        took = time.perf_counter() - begin
        progress.end(took, "done")
        seconds = progress.seconds_of(live.read())
        measured = {ends: one.bytes for ends, one in live.links().items()}
        delivered = {name: answers_of.answer_of(name, query, base) for name, query in found.queries.items()}
        console.print("asking plain Spark SQL the same of all files …", style="dim")
        plain = comparison.plain_answers(live.spark, found)
    verdicts, answers = _judged(found, delivered, plain, console, claim)
    return {"answers": answers, "verdicts": verdicts, "measured": measured, "seconds": seconds, "took": took}


def _run_cluster(found: Any, console: Console, claim: Claim) -> dict[str, Any]:
    """The same with a coordinator, and an agent for each site, as processes."""
    answers_of, comparison = _module("runtime.answers"), _module("apps.cdn.comparison")
    base, begin = Path(found.name).parent, time.perf_counter()
    said = [""]

    def look(status: Mapping[str, Any]) -> None:
        line = _line(status)
        if line != said[0]:
            said[0] = line
            console.print(f"{time.perf_counter() - begin:5.0f} s  {line}", markup=False, soft_wrap=True)

    with Processes(base) as processes:
        processes.serve(Path(found.name))
        for site in found.sites:
            processes.agent(site)
        status = processes.until("ended", look)
    took = time.perf_counter() - begin
    delivered = {name: answers_of.answer_of(name, query, base) for name, query in found.queries.items()}
    console.print("asking plain Spark SQL the same of all files …", style="dim")
    with _module("spark.session").one(2, base / "tmp", base / "spark.log") as spark:
        plain = comparison.plain_answers(spark, found)
    verdicts, answers = _judged(found, delivered, plain, console, claim)
    measured = {(link["from"], link["to"]): link["bytes"] for link in status["links"]}
    seconds = status["seconds_read"]
    return {"answers": answers, "verdicts": verdicts, "measured": measured, "seconds": seconds, "took": took}


def _line(status: Mapping[str, Any]) -> str:
    """How a cluster does, in a line."""
    sites = status["sites"].values()
    alive = sum(site["state"] == "alive" for site in sites)
    fragments = [one for site in sites for one in site["fragments"].values()]
    ended = sum(one["state"] == "ended" for one in fragments)
    rows, size = sum(one["rows"] for one in fragments), sum(link["bytes"] for link in status["links"])
    return (
        f"{status['state']}: {alive} of {len(status['sites'])} sites, {ended} of {len(fragments)} fragments done, "
        f"{rows:,} rows read, {size:,} bytes on links"
    )


def _judged(
    found: Any, delivered: Mapping[str, Counter[tuple[Any, ...]]], plain: Any, console: Console, claim: Claim
) -> tuple[Any, dict[str, Counter[tuple[Any, ...]]]]:
    """How answers compare with plain Spark's, and the answers without whether they are final, which all are."""
    claim(console, "every row of every answer is final", all(row[-1] for some in delivered.values() for row in some))
    answers = {name: Counter({row[:-1]: n for row, n in some.items()}) for name, some in delivered.items()}
    return _module("apps.cdn.comparison").compare(found, answers, plain), answers


def _show(console: Console, name: str, answer: Counter[tuple[Any, ...]], schema: Any) -> None:
    """The rows of an answer's last time that matter most."""
    told = _module("apps.cdn.story").answer_story(name, answer, schema)
    console.print(f"[bold]{told.question}[/bold] ({told.total:,} rows; the last time)")
    rows = [told.columns, *told.rows[:5]]
    console.print("\n".join(f"  {line}" for line in aligned(rows)), markup=False, soft_wrap=True)


def _story(prepared: Any, planned: Any, told: Mapping[str, Any], map_svg: str, picture: str) -> Any:
    tell, shipping = _module("apps.cdn.story"), _module("apps.cdn.shipping")
    made = _module("apps.cdn.deployment")
    chosen = planned.report.chosen
    found = prepared.deployment
    alone = _module("runtime.planned").planned(made.only(found, made.TOP)).report
    seconds = told["seconds"]
    return tell.Story(
        prepared.rows,
        prepared.files,
        len(found.sites),
        seconds,
        told["took"],
        tell.link_stories(chosen, seconds, told["measured"], shipping.everything(chosen)),
        tuple(
            tell.answer_story(name, answer, found.queries[name].operator.schema)
            for name, answer in told["answers"].items()
        ),
        told["verdicts"],
        map_svg,
        picture,
        tell.Alone(
            made.TOP,
            sum(link.bytes_per_second for link in alone.links()) * seconds,
            float(sum(one.bytes for one in shipping.everything(alone.chosen))),
        ),
    )


def _links(story: Any) -> list[str]:
    """Predicted, measured and shipped bytes of each link, and dollars a month."""
    head = ("link", "predicted", "measured", "everything shipped", "$ a month", "shipped")
    rows: list[tuple[str, ...]] = [head]
    rows.extend((f"{link.start} → {link.end}", *_sizes(link.sizes, story.usd_a_month(link))) for link in story.links)
    predicted, measured, shipped = story.sizes
    rows.append(("all links", *_sizes((predicted, measured, shipped), story.usd_a_month(*story.links))))
    saved = f"shipping the needed columns would take {shipped / measured:,.1f} times the bytes"
    return [*aligned(rows), saved]


def _sizes(sizes: Sequence[float], usd: Sequence[float]) -> tuple[str, ...]:
    return (*(f"{size:,.0f}" for size in sizes), amount(usd[1]), amount(usd[2]))

"""`tradewind run`: a deployment at work on this machine, with a line for every batch."""

from __future__ import annotations

import importlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradewind.algebra.durations import parse_duration
from tradewind.cli.check import AsJson, File
from tradewind.cli.flows import Flows, table_of
from tradewind.cli.messages import JsonLogs, speaking
from tradewind.cli.places import Backbone, State, state_of
from tradewind.cli.progress import Progress, idle_origins
from tradewind.errors import BadRecordsError, InputError
from tradewind.runtime.deployment import deployment
from tradewind.runtime.failing import failure

if TYPE_CHECKING:
    from tradewind.frontends.deployment.deployment import Deployment
    from tradewind.runtime.lineage_story import Story
    from tradewind.runtime.live import Live

UntilDone = Annotated[bool, typer.Option("--until-done", help="End when everything that is there has been read.")]
For = Annotated[str | None, typer.Option("--for", metavar="DURATION", help="End after so long, such as 60s.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Forget the state and what was delivered, and start again.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No line for every batch.")]
Planner = Annotated[
    str | None,
    typer.Option("--planner", metavar="NAME", help="How to choose what runs where, as for `plan`.  [default: exact]"),
]
Cut = Annotated[
    list[str] | None,
    typer.Option("--cut", metavar="LINK@WHEN", help="Cut a link for a time: eu-dc:hq@20s+30s. May be given again."),
]
Throttle = Annotated[
    list[str] | None,
    typer.Option("--throttle", metavar="LINK@RATE", help="Slow a link down: eu-dc:hq@10mbps, or …@10mbps@20s+30s."),
]
FullSpeed = Annotated[bool, typer.Option("--full-speed", help="Links as fast as this machine, not as declared.")]


def run(  # noqa: PLR0917, the command line's options come as parameters
    file: File,
    until_done: UntilDone = False,
    for_: For = None,
    state: State = None,
    fresh: Fresh = False,
    quiet: Quiet = False,
    planner: Planner = None,
    cut: Cut = None,
    throttle: Throttle = None,
    full_speed: FullSpeed = False,
    backbone: Backbone = None,
    as_json: AsJson = False,
    json_logs: JsonLogs = False,
) -> None:
    """Run FILE here, on Spark, at all its sites, and deliver what its queries ask. Links are imitated as declared, and
    what crosses them is counted. Ctrl-C stops; the next run goes on from there.
    """
    if until_done and for_ is not None:
        raise InputError("--until-done and --for exclude each other.", hint="choose one.")
    limit = parse_duration(for_) / 1e6 if for_ is not None else None
    if limit is not None and limit <= 0:
        raise InputError(f"--for {for_} is no time at all.", hint="give a duration above zero, such as 60s.")
    with speaking("run", as_json=json_logs) as say:
        found = deployment(file)
        network = network_of(found, cut or (), throttle or (), full_speed, backbone)
        progress = Progress(quiet, found, say if json_logs else None, rows_aside=as_json)
        live = found.run(
            state=state_of(file, state), until_done=until_done, fresh=fresh, on_batch=progress.batch,
            show=progress.rows, planner=planner, network=network,
        )  # fmt: skip
        begin = time.perf_counter()
        with closing(progress), _lineage(found, until_done, progress) as story:
            ended, totals, read, predicted, waits = _ran(live, limit, progress, story)
            failed = {query: str(error) for query, error in live.failed.items()}
            if failed:
                ended = "failed"
                story.fail(failed)
        seconds = time.perf_counter() - begin
        progress.end(seconds, ended)
        links = Flows.of(live).links(live.links(), predicted, progress.seconds_of(read))
        if links:
            progress.say("\n".join(table_of(links)))
        if as_json:
            summary = {**progress.summary(totals, read, seconds, ended), **waits, "links": links}
            typer.echo(json.dumps(summary | ({"failed": failed} if failed else {}), indent=2))
        if failed:
            # Told last: the other queries have gone on, and their figures are what a program reads.
            raise failure(live.failed, list(live.declared.queries))


def _ran(live: Live, limit: float | None, progress: Progress, story: Story) -> tuple[str, Any, Any, Any, Any]:
    """A run from its start to its end: how that came, how many rows the answers have, what was read, what was
    predicted for the links, and whom answers wait for.
    """
    # Spark takes the signals for itself when it starts, so they are taken after it.
    with live, _interruptible() as interrupted:
        progress.say(f"running {live.file} at {_where(live)}; state in {live.state}")
        for warning in live.warnings:
            progress.warn(warning)
        for line in live.planned.figures if live.planned is not None else ():
            progress.say(f"  {line}")
        # Loaded on use: other commands do not need what runs.
        serving = importlib.import_module("tradewind.runtime.serving")
        for name in serving.restore(live):
            progress.say(f"  goes on with {name}, which was added")

        def look() -> None:
            progress.say_failed(live.failed)
            progress.look(live, serving.serve(live))
            story.begin(live.declared)

        ended = _watch(live, limit, interrupted, look)
        story.done = ended in {"done", "failed"}
        waits = {"waits_for": _rounded(live.waits()), "idle": idle_origins(live)}
        progress.compare(live)
        return ended, live.totals, live.read(), live.predicted(), waits


def _rounded(waits: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {query: {name: round(for_, 1) for name, for_ in some.items()} for query, some in waits.items()}


def _lineage(found: Deployment, until_done: bool, progress: Progress) -> AbstractContextManager[Story]:
    """What is told of a run elsewhere, if the environment asks for it."""
    sender = importlib.import_module("tradewind.runtime.lineage_sender").Sender.of(os.environ, progress.say)
    story = importlib.import_module("tradewind.runtime.lineage_story")
    told: AbstractContextManager[Story] = story.told(
        found, sender, until_done=until_done, now=lambda: datetime.now(UTC)
    )
    return told


def _where(live: Live) -> str:
    if live.planned is None:
        return str(live.site)
    deployed = live.planned.deployed
    sites = {one.site for one in deployed.fragments}
    return f"{len(sites)} sites, {len(deployed.fragments)} fragments, {len(deployed.channels)} channels"


def _watch(live: Live, limit: float | None, interrupted: list[int], look: Callable[[], None]) -> str:
    """Wait for the end; how it came: done, failed, over or stopped."""
    begin = time.perf_counter()
    while not interrupted:
        try:
            if live.wait(0.5):
                return "done"
        except BadRecordsError:
            return "failed"
        look()
        if limit is not None and time.perf_counter() - begin >= limit:
            return "over"
    return "stopped"


@contextmanager
def _interruptible() -> Iterator[list[int]]:
    """Signals end the run between two looks at it instead of in the middle of something."""
    seen: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        seen.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def network_of(
    found: Deployment, cuts: Sequence[str], throttles: Sequence[str], full_speed: bool, backbone: str | None
) -> Any:
    """How the links of a run behave, from what the command line says."""
    # Loaded on use: other commands do not need the backbone.
    disturbances = importlib.import_module("tradewind.backbone.disturbances")
    wiring = importlib.import_module("tradewind.runtime.wiring")
    if backbone is not None and not backbone.startswith(("nats://", "tls://", "ws://", "wss://")):
        raise InputError(f"--backbone {backbone!r} is no NATS server.", hint="such as nats://user:password@host:4222.")
    known = [link.between for link in found.links]
    some = [disturbances.parse_cut(text, known) for text in cuts]
    some += [disturbances.parse_throttle(text, known) for text in throttles]
    return wiring.Network(tuple(some), imitate=not full_speed, backbone=backbone)

"""`tradewind serve`: the coordinator of a cluster, with its page."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.cli import private
from tradewind.cli.apply import outputs_told
from tradewind.cli.at import FOLDER
from tradewind.cli.messages import JsonLogs, speaking
from tradewind.cli.run import Fresh, FullSpeed, Planner, UntilDone
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment

if TYPE_CHECKING:
    from tradewind.runtime.cluster.coordinator import Coordinator
    from tradewind.runtime.lineage_sender import Sender
    from tradewind.runtime.saying import Say

_HTTP, _BACKBONE = 7470, 7471
_TOKEN_SECONDS = 3600.0
_LOCAL = ("127.0.0.1", "localhost")

What = Annotated[
    Path | None,
    typer.Argument(help="A deployment file to run, or the folder of a coordinator.", show_default=False),
]
StateOf = Annotated[
    Path | None, typer.Option("--state", help="The coordinator's folder.  [default: .tradewind/coordinator]")
]
Listen = Annotated[
    str,
    typer.Option("--listen", metavar="HOST[:PORT]", help="Where HTTP listens; sites connect one port above it."),
]
Host = Annotated[
    list[str] | None,
    typer.Option(
        "--host", metavar="HOST", help="A name or address under which others reach this machine. May be given again."
    ),
]


def serve(  # noqa: PLR0917, the command line's options come as parameters
    what: What = None,
    state: StateOf = None,
    listen: Listen = f"127.0.0.1:{_HTTP}",
    host: Host = None,
    until_done: UntilDone = False,
    fresh: Fresh = False,
    planner: Planner = None,
    full_speed: FullSpeed = False,
    json_logs: JsonLogs = False,
) -> None:
    """Run a coordinator: it says what sites are to run, knows how it goes, and lets sites in. With a deployment FILE it
    lets that run, and says how each of its sites may join. A second coordinator on the same folder stands by.
    """
    file, folder = _parts(what, state)
    address, port = listening(listen)
    with speaking("coordinator", as_json=json_logs) as say, interruptible() as stopping:
        found = deployment(file) if file is not None else None
        sender = importlib.import_module("tradewind.runtime.lineage_sender").Sender.of(os.environ, say)
        leading = importlib.import_module("tradewind.runtime.cluster.leading").Leadership(folder)
        if not leading.wait(stopping, lambda: say(f"another coordinator leads in {folder}; standing by")):
            return
        root = file.resolve().parent if file is not None else Path.cwd()
        coordinator = _started(
            folder, address, port, list(host or ()), root, imitate=address in _LOCAL and not full_speed
        )
        try:
            with _served(coordinator, (address, port)) as url, _lineage(coordinator, sender, say):
                if file is not None and found is not None:
                    text = file.read_text(encoding="utf-8-sig")
                    done = coordinator.apply(text, file.name, planner=planner, until_done=until_done, fresh=fresh)
                    for line in outputs_told(done):
                        say(line)
                    parts = len(coordinator.fragments())
                    say(f"{file.name}: epoch {done['epoch']}, {parts} fragments", epoch=done["epoch"], fragments=parts)
                    _hand_out(coordinator, list(found.sites), url, say)
                say(f"coordinator at {url}; sites connect to port {coordinator.port}; state in {folder}", url=url)
                say(f"its page is at the same address, and asks for the secret in {folder / 'secret'}")
                stopping.wait()
        finally:
            coordinator.stop_leading()
            leading.give_up()


def _parts(what: Path | None, state: Path | None) -> tuple[Path | None, Path]:
    """The file to run, and the coordinator's folder."""
    if what is not None and what.is_dir():
        if state is not None:
            raise InputError("a folder is given twice.", hint="either DIR or --state DIR.")
        return None, what
    return what, state or FOLDER


def listening(text: str) -> tuple[str, int]:
    """A host and a port."""
    host, separator, port = text.rpartition(":")
    if not separator:
        return text, _HTTP
    if not port.isdigit() or not 0 <= int(port) < 1 << 16 or not host:
        raise InputError(f"{text!r} is no address to listen at.", hint="HOST or HOST:PORT, such as 0.0.0.0:7470.")
    return host.strip("[]"), int(port)


def _started(folder: Path, address: str, port: int, hosts: list[str], root: Path, *, imitate: bool) -> Coordinator:
    module = importlib.import_module("tradewind.runtime.cluster.coordinator")
    known = [*hosts, *([address] if address not in {"0.0.0.0", "::", *_LOCAL} else [])]  # noqa: S104 - it is compared
    office = module.Office(folder, (address, port + 1 if port else 0), known, root, imitate)
    coordinator: Coordinator = module.Coordinator(office)
    coordinator.start()
    return coordinator


@contextmanager
def _served(coordinator: Coordinator, listen: tuple[str, int]) -> Iterator[str]:
    """The coordinator's page and interface, and a note beside its state by which other commands find them."""
    web, serving = (importlib.import_module(f"tradewind.web.{name}") for name in ("app", "serving"))
    client = importlib.import_module("tradewind.runtime.cluster.client")
    folder, own, (address, port) = coordinator.office.folder, coordinator.members.own, listen
    secret = private.secret(folder / "secret")
    names = {*_LOCAL, "::1", address, *coordinator.office.hosts}
    served = serving.Served.start(web.app(coordinator, secret, names), address, port, own.certificate, own.key)
    try:
        near = "127.0.0.1" if address in {"0.0.0.0", "::"} else address  # noqa: S104 - it is compared
        url = f"https://{near}:{served.port}"
        client.Contact(url, secret, coordinator.ca()).save(folder)
        yield url
    finally:
        served.stop()


def _lineage(coordinator: Coordinator, sender: Sender | None, say: Say) -> AbstractContextManager[None]:
    lineage = importlib.import_module("tradewind.runtime.cluster.lineage")
    told: AbstractContextManager[None] = lineage.told(coordinator, sender, say, lambda: datetime.now(UTC))
    return told


def _hand_out(coordinator: Coordinator, sites: list[str], url: str, say: Say) -> None:
    """Write tokens for the sites that have not joined yet, for whoever may read the folder."""
    place = coordinator.office.folder / "tokens"
    place.mkdir(mode=0o700, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    at = url.removeprefix("https://").removesuffix(f":{_HTTP}")
    office = coordinator.office
    # Agents do not see the file: what its paths are relative to has to be said to them, unless it is where they start.
    root = "" if office.root == Path.cwd() else f" --root {os.path.relpath(office.root)}"
    for site in sites:
        if site not in coordinator.members.sites():
            path = place / site
            private.write(path, coordinator.token(site, _TOKEN_SECONDS, ["127.0.0.1"]))
            say(f"site {site} may join within an hour: tradewind agent --site {site}{root} --join {path}@{at}")
    if office.listen[0] not in _LOCAL:
        say("that is for agents on this machine; for one elsewhere: tradewind token SITE")


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that signals set, so that all ends in order."""
    stopping = threading.Event()
    # Not by the handler itself: it interrupts the main thread, which may hold the event's own lock just then.
    signals: SimpleQueue[bool] = SimpleQueue()
    before = {number: signal.signal(number, lambda *_: signals.put(True)) for number in (signal.SIGINT, signal.SIGTERM)}
    listener = threading.Thread(target=_passed_on, args=(signals, stopping), name="tradewind-signals", daemon=True)
    listener.start()
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signals.put(False)
        listener.join()


def _passed_on(signals: SimpleQueue[bool], stopping: threading.Event) -> None:
    while signals.get():
        stopping.set()

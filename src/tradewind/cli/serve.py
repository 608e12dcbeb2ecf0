"""`tradewind serve`: the coordinator of a cluster, with its page."""

from __future__ import annotations

import importlib
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.cli.at import FOLDER
from tradewind.cli.run import Fresh, FullSpeed, Planner, UntilDone
from tradewind.errors import InputError
from tradewind.frontends.deployment.file import deployment

if TYPE_CHECKING:
    from tradewind.runtime.cluster.coordinator import Coordinator

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
JsonLogs = Annotated[bool, typer.Option("--json-logs", help="Messages as JSON, one a line.")]


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
    messages = importlib.import_module("tradewind.cli.messages")
    say = messages.speaker("coordinator", as_json=json_logs)
    file, folder = _parts(what, state)
    found = deployment(file) if file is not None else None
    address, port = listening(listen)
    leading = importlib.import_module("tradewind.runtime.cluster.leading").Leadership(folder)
    with interruptible() as stopping:
        if not leading.wait(stopping, lambda: say(f"another coordinator leads in {folder}; standing by")):
            return
        root = file.resolve().parent if file is not None else Path.cwd()
        coordinator = _started(
            folder, address, port, list(host or ()), root, imitate=address in _LOCAL and not full_speed
        )
        try:
            with _served(coordinator, (address, port), json_logs) as url:
                if file is not None and found is not None:
                    text = file.read_text(encoding="utf-8-sig")
                    done = coordinator.apply(text, file.name, planner=planner, until_done=until_done, fresh=fresh)
                    say(f"{file.name}: epoch {done['epoch']}, {len(coordinator.fragments())} fragments")
                    _hand_out(coordinator, list(found.sites), url, say)
                say(f"coordinator at {url}; sites connect to port {coordinator.port}; state in {folder}")
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
def _served(coordinator: Coordinator, listen: tuple[str, int], json_logs: bool) -> Iterator[str]:
    """The coordinator's page and interface, and a note beside its state by which other commands find them."""
    web, serving = (importlib.import_module(f"tradewind.web.{name}") for name in ("app", "serving"))
    client = importlib.import_module("tradewind.runtime.cluster.client")
    folder, own, (address, port) = coordinator.office.folder, coordinator.members.own, listen
    secret = _secret(folder)
    names = {*_LOCAL, "::1", address, *coordinator.office.hosts}
    served = serving.Served.start(
        web.app(coordinator, secret, names), address, port, own.certificate, own.key, log_json=json_logs
    )
    try:
        near = "127.0.0.1" if address in {"0.0.0.0", "::"} else address  # noqa: S104 - it is compared
        url = f"https://{near}:{served.port}"
        client.Contact(url, secret, coordinator.ca()).save(folder)
        yield url
    finally:
        served.stop()


def _secret(folder: Path) -> str:
    """What those who ask the coordinator must know; made once."""
    path = folder / "secret"
    if not path.exists():
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32))
    return path.read_text()


def _hand_out(coordinator: Coordinator, sites: list[str], url: str, say: Callable[[str], None]) -> None:
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
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                file.write(coordinator.token(site, _TOKEN_SECONDS, ["127.0.0.1"]))
            say(f"site {site} may join within an hour: tradewind agent --site {site}{root} --join {path}@{at}")
    if office.listen[0] not in _LOCAL:
        say("that is for agents on this machine; for one elsewhere: tradewind token SITE")


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that signals set, so that all ends in order."""
    stopping = threading.Event()
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

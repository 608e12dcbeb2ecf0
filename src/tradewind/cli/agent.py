"""`tradewind agent`: one site of a cluster, at work on this machine."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tradewind.cli import private
from tradewind.cli.messages import JsonLogs, speaking
from tradewind.cli.serve import interruptible, listening
from tradewind.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

    from tradewind.runtime.cluster.agent import Agent
    from tradewind.runtime.cluster.joining import Membership
    from tradewind.runtime.saying import Say

SiteName = Annotated[str, typer.Option("--site", help="The site that this machine is, as deployments call it.")]
Worker = Annotated[
    int | None,
    typer.Option(
        "--worker", min=2, max=999,
        help="Be a further agent of the site, which takes shares of its work; they count from 2.",
    ),
]  # fmt: skip
Join = Annotated[
    str | None,
    typer.Option(
        "--join", metavar="TOKEN@HOST", help="Join a coordinator, once; TOKEN may be the path of a file that holds it."
    ),
]
Root = Annotated[Path, typer.Option("--root", help="The folder that paths of deployments are relative to and below.")]
StateOf = Annotated[
    Path | None, typer.Option("--state", help="Where it keeps its state.  [default: .tradewind/agents/SITE]")
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="HOST:PORT",
        help="Where other sites may dial this one; `none`: nowhere, it dials them.  "
        "[default: a free port of 127.0.0.1 if the coordinator is there too, else none; of a worker none]",
    ),
]  # fmt: skip
Advertise = Annotated[
    str | None, typer.Option("--advertise", metavar="HOST:PORT", help="How others reach that, if not as it is.")
]
Cores = Annotated[int | None, typer.Option("--cores", min=1, help="Cores that Spark uses.  [default: all]")]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="[HOST:]PORT", help="Where Prometheus may ask for metrics; HOST is 127.0.0.1 unless given."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory of Spark's Java, such as 2g.  [default: what the file declares of the site]"),
]

_LOOK = 0.5
"""Seconds between two looks for a file."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_MEMORY = re.compile(r"[1-9][0-9]{0,6}[mgMG]")


def agent(  # noqa: PLR0917, the command line's options come as parameters
    site: SiteName,
    worker: Worker = None,
    join: Join = None,
    root: Root = Path(),
    state: StateOf = None,
    listen: Listen = None,
    advertise: Advertise = None,
    cores: Cores = None,
    memory: Memory = None,
    metrics: Metrics = None,
    json_logs: JsonLogs = False,
) -> None:
    """Be a site of a cluster: run what its coordinator wants here, on Spark, until Ctrl-C. It dials the coordinator, so
    it may stand behind a firewall. What it did is not forgotten: started again, it goes on.
    """
    if not _NAME.fullmatch(site):
        raise InputError(f"{site[:60]!r} is no name of a site.", where="--site")
    if worker is not None:
        site = f"{site}~{worker}"
    if memory is not None and not _MEMORY.fullmatch(memory):
        raise InputError(f"{memory!r} is no amount of memory.", where="--memory", hint="such as 512m or 2g.")
    at = None if metrics is None else _metrics_at(metrics)
    folder = state or Path(".tradewind") / "agents" / site
    with speaking(site, as_json=json_logs) as say:
        member = _member(site, join, folder / "identity", say)
        module = importlib.import_module("tradewind.runtime.cluster.agent")
        post = module.Post(
            identity=member.identity,
            site=site,
            root=root.resolve(),
            state=folder,
            coordinator=member.coordinator,
            # A worker only ever talks to its site, and dials it unless it is told otherwise.
            listen=_listen("none" if listen is None and worker is not None else listen, member.coordinator),
            advertise=advertise,
            cores=cores,
            memory=None if memory is None else memory.lower(),
        )
        made = module.Agent(post, say, _show)
        with interruptible() as stopping, _measured(made, at, say):
            made.run(stopping)


@contextmanager
def _measured(agent: Agent, at: tuple[str, int] | None, say: Say) -> Iterator[None]:
    """Metrics of an agent, if they are asked for: by TLS, as the site, for who has a secret that lies by its state."""
    if at is None:
        yield
        return
    web, serving = (importlib.import_module(f"tradewind.web.{name}") for name in ("app", "serving"))
    post, (address, port) = agent.post, at
    post.state.mkdir(parents=True, exist_ok=True)
    path, own = post.state / "metrics-secret", post.identity
    names = {"127.0.0.1", "localhost", "::1", address, *own.hosts()}
    app = web.site_app(agent, private.secret(path), names)
    with serving.Served.start(app, address, port, own.certificate, own.key) as served:
        shown = f"[{address}]" if ":" in address else address
        say(f"metrics at https://{shown}:{served.port}/metrics, for who has the secret in {path}", port=served.port)
        yield


def _metrics_at(text: str) -> tuple[str, int]:
    """Where metrics are to be had: on this machine only, unless a host is named."""
    where = text if ":" in text else f"127.0.0.1:{text}"
    try:
        return listening(where)
    except InputError:
        raise InputError(
            f"{text!r} is no place for metrics.", where="--metrics", hint="PORT or HOST:PORT, such as 7473."
        ) from None


def _member(site: str, join: str | None, folder: Path, say: Say) -> Membership:
    joining = importlib.import_module("tradewind.runtime.cluster.joining")
    known: Membership | None = joining.membership(folder)
    if known is not None and known.identity.site != site:
        raise InputError(f"the state there is that of site {known.identity.site!r}.", where=str(folder))
    if join is None:
        if known is None:
            raise InputError(
                f"site {site!r} has not joined yet.", hint=f"--join TOKEN@HOST; `{_asking(site)}` prints it."
            )
        return known
    if known is not None and known.came_by(join):
        # Started again by the same command: the token has been used, and is not needed any more.
        return known
    missing: Path | None = joining.missing_file(join)
    if missing is not None:
        # Agents are started by scripts, and beside the coordinator that writes the file.
        with interruptible() as stopping:
            say(f"site {site}: waiting for the token file {missing}; `{_asking(site)}` prints a token", level="warning")
            while not missing.exists():
                if stopping.wait(_LOOK):
                    raise typer.Exit
    made: Membership = joining.join(join, site, folder)
    return made


def _asking(place: str) -> str:
    site, _, worker = place.partition("~")
    return f"tradewind token {site} --worker {worker}" if worker else f"tradewind token {site}"


def _listen(text: str | None, coordinator: str) -> tuple[str, int] | None:
    if text == "none":
        return None
    if text is None:
        return ("127.0.0.1", 0) if coordinator.rpartition(":")[0] in {"127.0.0.1", "localhost"} else None
    return listening(text)


def _show(name: str, rows: pa.Table) -> None:
    """Rows of a query that is delivered to the console."""
    for row in rows.to_pylist():
        typer.echo(json.dumps({"query": name, **row}, default=str))

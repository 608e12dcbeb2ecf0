"""The `tradewind` command: its sub-commands, and how errors reach the user."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from tradewind.cli.agent import agent
from tradewind.cli.apply import apply
from tradewind.cli.check import check
from tradewind.cli.demo import demo
from tradewind.cli.doctor import doctor
from tradewind.cli.experiment import experiment
from tradewind.cli.explain import explain
from tradewind.cli.membership import revoke, token
from tradewind.cli.messages import BAD_INPUT, FAILED
from tradewind.cli.move import move
from tradewind.cli.plan import plan
from tradewind.cli.results import results
from tradewind.cli.run import run
from tradewind.cli.serve import serve
from tradewind.cli.split import merge, split
from tradewind.cli.status import describe, stats, status, stop
from tradewind.cli.streams import queries, streams
from tradewind.errors import DeploymentError, InputError, TradewindError

app = typer.Typer(
    name="tradewind",
    help="Continuous queries over streams that live in many places.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(check)
app.command()(plan)
app.command()(explain)
app.command()(run)
app.command()(results)
app.command()(streams)
app.add_typer(queries, name="queries")
app.command()(serve)
app.command()(agent)
app.command()(token)
app.command()(revoke)
app.command()(apply)
app.command()(status)
app.command()(describe)
app.command()(stats)
app.command()(move)
app.command()(split)
app.command()(merge)
app.command()(stop)
app.command()(demo)
app.command()(experiment)
app.command()(doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tradewind {version('tradewind')}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        app()
    except DeploymentError as error:
        for problem in error.problems:
            typer.echo(str(problem), err=True)
        count = len(error.problems)
        typer.echo(f"{count} problem{'s' if count != 1 else ''}.", err=True)
        sys.exit(BAD_INPUT)
    except InputError as error:
        typer.echo(f"tradewind: {error}", err=True)
        sys.exit(BAD_INPUT)
    except TradewindError as error:
        typer.echo(f"tradewind: {error}", err=True)
        sys.exit(FAILED)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain once more when it closes stdout.
        sys.stderr.close()
        sys.exit(FAILED)
    except OSError as error:
        typer.echo(f"tradewind: {error.strerror or error}: {error.filename or ''}", err=True)
        sys.exit(FAILED)


if __name__ == "__main__":
    main()

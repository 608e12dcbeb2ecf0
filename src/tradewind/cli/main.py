"""The `tradewind` command: its sub-commands, and how errors reach the user."""

from __future__ import annotations

import importlib
import sys
from collections import UserDict
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tradewind.cli.messages import BAD_INPUT, FAILED, plain_typer
from tradewind.errors import DeploymentError, InputError, TradewindError

COMMANDS = {
    "check": "check",
    "plan": "plan",
    "explain": "explain",
    "run": "run",
    "results": "results",
    "streams": "streams",
    "queries": "streams",
    "serve": "serve",
    "agent": "agent",
    "token": "membership",
    "revoke": "membership",
    "apply": "apply",
    "status": "status",
    "describe": "status",
    "stats": "status",
    "move": "move",
    "split": "split",
    "merge": "split",
    "pause": "pause",
    "resume": "pause",
    "savepoint": "savepoint",
    "stop": "stop",
    "demo": "demo",
    "experiment": "experiment",
    "doctor": "doctor",
    "prepare": "prepare",
}
"""The commands, and the modules of this package that they are in. A module is loaded when its command is called: what
planning and running need takes longer to load than `check` takes to answer.
"""


class _Loaded(UserDict[str, Any]):
    """The commands, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        found = getattr(importlib.import_module(f"tradewind.cli.{COMMANDS[name]}"), name)
        if not isinstance(found, typer.Typer):
            alone = plain_typer()
            alone.command(name)(found)
            found = alone
        command = get_command(found)
        command.name = name
        return command


class _Commands(TyperGroup):
    """Knows the commands by name without loading them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Loaded(COMMANDS)

    def list_commands(self, ctx: object) -> list[str]:
        """In the order in which people meet them."""
        return list(COMMANDS)


app = plain_typer(
    name="tradewind",
    help="Continuous queries over streams that live in many places.",
    no_args_is_help=True,
    cls=_Commands,
)


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
        listed = f" They are the first: there are at least {error.more:,} more." if error.more else ""
        typer.echo(f"{count:,} problem{'s' if count != 1 else ''}.{listed}", err=True)
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

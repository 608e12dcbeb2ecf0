"""`tradewind doctor`: what is missing on this machine, and the command that mends it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from tradewind.cli.check import AsJson
from tradewind.spark import archive, java

_GIB = 2**30
_LEAST_JAVA = 17
_MEMORY, _DISK = 3.0, 2.0
_NO_ARCHIVE = "not there: tradewind prepare makes it in a minute"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: how it is, whether that is enough, and what mends it."""

    what: str
    ok: bool
    found: str
    mend: str = ""


def doctor(as_json: AsJson = False) -> None:
    """Look at what a run needs: Python, Java, Spark, memory, disk. Exit 0 when all is there, 1 when not."""
    findings = [look() for look in _LOOKS]
    well = all(one.ok for one in findings)
    if as_json:
        typer.echo(json.dumps({"ok": well, "findings": [asdict(one) for one in findings]}, indent=2))
    else:
        for one in findings:
            typer.echo(f"{'ok     ' if one.ok else 'MISSING'}  {one.what}: {one.found}")
            if not one.ok and one.mend:
                typer.echo(f"         mend it: {one.mend}")
        typer.echo("everything is there." if well else "something is missing.")
    if not well:
        raise typer.Exit(1)


def _python() -> Finding:
    here = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("Python 3.11 or newer", sys.version_info >= (3, 11), here, "PYTHON=/path/to/python3.12 ./dev setup")


def _java() -> Finding:
    command = java.program()
    mend = "sudo apt-get install default-jre-headless"
    if command is None:
        missing = os.environ.get("JAVA_HOME", "java on the path")
        return Finding("Java 17 or newer", False, f"no {missing}", mend)
    # The command is the machine's own Java.
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False, timeout=30).stderr  # noqa: S603
    match = re.search(r'version "(\d+)', said)
    number = int(match.group(1)) if match else 0
    return Finding("Java 17 or newer", number >= _LEAST_JAVA, f"{number or 'unknown'} ({command})", mend)


def _archive() -> Finding:
    found = archive.place()
    there = found is not None and found.exists()
    return Finding("Java's archive (Spark starts in half the time; optional)", True, "there" if there else _NO_ARCHIVE)


def _package(name: str, why: str) -> Callable[[], Finding]:
    def look() -> Finding:
        try:
            return Finding(f"{name} ({why})", True, version(name))
        except PackageNotFoundError:
            return Finding(f"{name} ({why})", False, "not installed", "./dev setup")

    return look


def _memory() -> Finding:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    here = pages * size / _GIB
    mend = "use a larger machine, or fewer cores per site."
    return Finding(f"memory of {_MEMORY:.0f} GiB or more", here >= _MEMORY, f"{here:.1f} GiB", mend)


def _disk() -> Finding:
    here = shutil.disk_usage(Path.cwd()).free / _GIB
    mend = "free some, or put the state elsewhere: tradewind run FILE --state DIR"
    return Finding(f"free disk of {_DISK:.0f} GiB or more", here >= _DISK, f"{here:.1f} GiB here", mend)


def _cores() -> Finding:
    count = os.cpu_count() or 1
    return Finding("processor cores", True, str(count))


def _postgres() -> Finding:
    try:
        return Finding("psycopg (tables in PostgreSQL; optional)", True, version("psycopg"))
    except PackageNotFoundError:
        return Finding(
            "psycopg (tables in PostgreSQL; optional)", True, "not installed: pip install tradewind[postgres]"
        )


_LOOKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _java,
    _package("pyspark", "the engine"),
    _archive,
    _package("pandas", "Spark's Python workers need it"),
    _package("pyarrow", "rows in columns"),
    _package("numpy", "ordered operators"),
    _postgres,
    _cores,
    _memory,
    _disk,
)

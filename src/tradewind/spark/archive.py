"""An archive of the Java classes that Spark loads: with it Java starts with half the work.

Java checks that an archive is of its own version and of the same jars, and passes over one that is not.
"""

from __future__ import annotations

import os
import sys
import zlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from tradewind.spark import java

_OPTIONS = "JDK_JAVA_OPTIONS"
"""What Java's launcher adds to its command line."""


def place() -> Path | None:
    """Where the archive for this Java and this Spark is, or would be: it goes with the environment that it is for."""
    program = java.program()
    try:
        spark = distribution("pyspark")
    except PackageNotFoundError:
        return None
    if program is None:
        return None
    known = f"{program} {program.stat().st_mtime_ns} {spark.locate_file('pyspark')}"
    own = sys.prefix != sys.base_prefix
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(sys.prefix) / "share" / "tradewind" if own else caches / "tradewind"
    return folder / f"spark-{spark.version}-{zlib.crc32(known.encode()):08x}.jsa"


def used() -> str:
    """Java's options to use the archive, if it is there."""
    found = place()
    # An archive that does not fit is no matter for people.
    return f"-XX:SharedArchiveFile={found} -Xlog:cds=off -Xlog:cds+dynamic=off" if found and found.exists() else ""


def written(partial: Path) -> dict[str, str]:
    """The environment in which Java writes what it has loaded to an archive when it ends."""
    before = os.environ.get(_OPTIONS, "")
    own = f"-XX:ArchiveClassesAtExit={partial} -XX:TieredStopAtLevel=1 -Xlog:cds=off -Xlog:cds+dynamic=off"
    return {_OPTIONS: f"{before} {own}".strip()}

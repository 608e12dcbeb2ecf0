"""The Java that Spark is started with, and what it is told."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_OPTIONS = (
    # Deep plans overflow the stack of the thread that prints or optimises them.
    "-Xss16m",
    # What is larger than half a region is kept apart, and each time makes Java look through all that it holds; each
    # task's result, and each column of a file, takes 1 MB at least.
    "-XX:+UseG1GC -XX:G1HeapRegionSize=4m",
    # Arrow would check bounds at each value that it writes, after Spark has: a fifth of the way to Python.
    "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false",
    # Java compiles what it has done a few thousand times once more, as well as it can. While Spark starts, and plans
    # its first batches, that takes two fifths of all its work, for code that is hardly used again. So what counts as
    # often is ten times as often as by default; what each row goes through gets there within seconds.
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000",
)
_WITHOUT_HELPER = "-Djdk.lang.Process.launchMechanism=VFORK"
"""Hadoop starts a `chmod` for each local file; Java's usual helper makes that two processes each time."""
_LAST_WITHOUT_HELPER = 24
"""Later ones warn of it, or do not know it any more."""


def program() -> Path | None:
    """The Java that Spark is started with."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return Path(found).resolve() if found is not None and Path(found).exists() else None


def major() -> int | None:
    """Its version, if it says so beside itself."""
    found = program()
    if found is None:
        return None
    try:
        told = re.search(r'^JAVA_VERSION="(\d+)', (found.parent.parent / "release").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(told[1]) if told else None


def options() -> str:
    """What it is told."""
    known = major()
    return " ".join([*_OPTIONS, *([_WITHOUT_HELPER] if known is not None and known <= _LAST_WITHOUT_HELPER else [])])

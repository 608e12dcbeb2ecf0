"""Whether a file brings down what reads it, tried out in a process of its own.

Libraries that read columns trust what a file says of itself; damaged in the right place, it makes them read memory that
is not theirs. A Python worker that dies of it takes the whole batch along, so after that each file is tried out first.
"""

from __future__ import annotations

import subprocess
import sys

_TRIED = (
    "import sys; from tradewind.spark.sources import columnar; "
    "[table.validate(full=True) for table in getattr(columnar, sys.argv[1])(sys.argv[2])]"
)


def crashes_on(tables: str, file: str) -> bool:
    """Whether a process that reads the tables of a file is killed by it; an error that Python can raise is none."""
    done = subprocess.run(  # noqa: S603  our own program, and the path of a file that it opens
        [sys.executable, "-c", _TRIED, tables, file], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return done.returncode < 0

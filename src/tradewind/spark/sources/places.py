"""Where an origin's files are: paths as people write them, as Spark takes them, and as Spark gives them back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tradewind.errors import InputError

_GLOB = "*?[]{}\\"
MOST_BYTES = 256_000_000
"""So many bytes of files are in one batch at most, unless options say something else."""
_FOR_EVER = "36500d"
_MILLISECOND = 1_000_000


def place_of(path: str | None, base: Path) -> Path:
    """The folder, file or pattern that an origin names, relative to the deployment's folder."""
    if path is None:
        raise InputError("it has no path.", hint="path: data/requests.")
    if "://" in path:
        raise InputError(f"{path[:100]!r} is not on this machine.", hint="give the path of a folder, a file or a glob.")
    return (base / path).absolute()


def literal(path: str | Path) -> str:
    """A path as Spark must be given it to mean this one and no pattern."""
    return "".join(f"\\{sign}" if sign in _GLOB else sign for sign in str(path))


def tracked_files(
    spark: SparkSession, place: Path, options: dict[str, Any], *, wait: bool, own: bool = False
) -> DataFrame:
    """A streaming frame over the files of a place, for Spark to find out what is new; it has no rows to read.

    Files in a folder of our `own` are removed once they have been read.
    """
    if own:
        place.mkdir(parents=True, exist_ok=True)
    pattern = _pattern(place, wait)
    reader = spark.readStream.format("text").option("latestFirst", "false")
    if options.get("max_files_per_batch") is not None:
        reader = reader.option("maxFilesPerTrigger", options["max_files_per_batch"])
    else:
        reader = reader.option("maxBytesPerTrigger", options.get("max_bytes_per_batch") or MOST_BYTES)
    # Others may put files there with old times; by itself Spark passes over what is a week older than the newest.
    reader = reader.option("cleanSource", "delete") if own else reader.option("maxFileAge", _FOR_EVER)
    return reader.load(pattern).selectExpr("1 AS new").where("false")


def drop(folder: Path, name: str, last: int, size: int = 0) -> int:
    """Put an empty file that seems to be of some size into a folder that Spark watches, later than the one before.

    Spark goes by the times of files in milliseconds: `last` is that of the one before, in nanoseconds, and what is
    given back is this one's.
    """
    partial = folder / f".{name}"
    with partial.open("wb") as file:
        file.truncate(size)
    time = max(partial.stat().st_mtime_ns, last + _MILLISECOND)
    os.utime(partial, ns=(time, time))
    partial.rename(folder / name)
    return time


def _only(place: Path) -> str:
    """A pattern that only one file or folder is like: Spark's streams are over folders that are there, and patterns."""
    sign = next((sign for sign in place.name if sign.isalnum()), None)
    if sign is None:
        raise InputError(f"{place} cannot be watched by itself.", hint="give the path of its folder.")
    before, _, after = place.name.partition(sign)
    return f"{literal(place.parent)}/{literal(before)}[{sign}]{literal(after)}"


def require_there(place: Path) -> None:
    """A place that is no pattern has to exist, unless somebody may still make it."""
    if not place.exists() and not _is_pattern(place):
        raise InputError(f"there is no {place}.", hint="create it, or mend the path.")


def _is_pattern(place: Path) -> bool:
    return any(sign in str(place) for sign in "*?[{")


def _pattern(place: Path, wait: bool) -> str:
    """What Spark watches. A place that is not there yet is waited for, and never made: its path may be a mistake."""
    if place.is_file():
        return _only(place)
    if place.exists():
        return literal(place)
    if _is_pattern(place):
        return str(place)
    if not wait:
        require_there(place)
    return _only(place)

"""Savepoints on disk: a copy of a run's state, and of what it had delivered, that another run may start from.

Files of state and of answers are written once and then renamed, removed or left alone, never changed. So a copy is a
second name for each of them, which costs no room; where that cannot be, as on another disk, it is a copy. The files of
a backbone server are written to all the time, and are copied always.

Spark knows files by where they are. State that is put elsewhere has to be told so: its logs name files of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tradewind.algebra.operators.base import walk
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import DataError, InputError
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.spark.sinks import Files, Sink
from tradewind.spark.sources.reading import local

MANIFEST, STATE, OUTPUTS = "savepoint.json", "state", "outputs"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PASSING = frozenset({"tmp", "spark.log", "rehearsal", "in-use"})
"""What lies in a state folder and is of no use later."""
_URI_SAFE = "/_-!.~'()*,;:$&+=@"


def require_name(name: str) -> str:
    """Refuse what cannot be the name of a savepoint, and of a folder."""
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is no name for a savepoint.",
            hint="up to 64 letters, digits, dots, dashes and underscores; a letter or digit first.",
        )
    return name


def require_without_tables(found: Deployment, queries: Iterable[str]) -> None:
    """Refuse queries that work on stored tables: these are changed in place, and no copy is taken of them."""
    for name in queries:
        if any(isinstance(node, Read | Update) for node in walk(found.queries[name].operator)):
            raise InputError(
                f"query {name!r} works on a stored table, which a savepoint does not hold.",
                where=f"queries.{name}",
                hint="`pause` keeps state where it is; or back up the table and the state together.",
            )


def copied(source: Path, target: Path, *, whole: Collection[str] = ()) -> int:
    """A second name for each file of a folder, and copies of what is in some of its folders; bytes of all of them."""
    target.mkdir(parents=True)
    size = 0
    for entry in sorted(os.scandir(source), key=lambda one: one.name) if source.is_dir() else ():
        if entry.name in _PASSING:
            continue
        place = target / entry.name
        if entry.name in whole:
            shutil.copytree(entry.path, place, symlinks=True)
            size += sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        else:
            size += _linked(Path(entry.path), place)
    return size


def _linked(source: Path, target: Path) -> int:
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return 0
    if source.is_dir():
        target.mkdir()
        return sum(_linked(one, target / one.name) for one in sorted(source.iterdir()))
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target.stat().st_blocks * 512


def rebased(folder: Path, old: Path, new: Path) -> None:
    """Tell state that was below one folder that it is below another from now on."""
    if old == new:
        return
    for log in folder.rglob("sources/*/*"):
        # Spark's lists of the files that it has seen: a version, then a line of JSON for each.
        if log.is_file() and "offsets" in log.relative_to(folder).parts:
            _rebase_log(log, old, new)
    for readers in folder.rglob(".readers"):
        _rebase_readers(readers, old, new)


def _rebase_log(log: Path, old: Path, new: Path) -> None:
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return  # a checksum beside a list
    changed = [_rebase_line(line, old, new) for line in lines]
    if changed == lines:
        return
    partial = log.with_name(f"{log.name}.partial")
    partial.write_text("\n".join(changed), encoding="utf-8")
    partial.replace(log)
    # It was made of the text before.
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)


def _rebase_line(line: str, old: Path, new: Path) -> str:
    if not line.startswith("{"):
        return line
    known = json.loads(line)
    uri = known.get("path")
    if not isinstance(uri, str) or not (path := local(uri)).is_relative_to(old):
        return line
    return json.dumps({**known, "path": uri_of(new / path.relative_to(old))}, separators=(",", ":"), ensure_ascii=False)


def uri_of(path: Path) -> str:
    """A file's address as Spark writes it: what is no letter and no sign of a path is written by its bytes.

    >>> uri_of(Path("/data/a b/50%/ä")), str(local(uri_of(Path("/data/a b/50%/ä"))))
    ('file:///data/a%20b/50%25/ä', '/data/a b/50%/ä')
    """
    signs = (sign if ord(sign) > 127 else quote(sign, safe=_URI_SAFE) for sign in str(path))
    return f"file://{''.join(signs)}"


def _rebase_readers(readers: Path, old: Path, new: Path) -> None:
    """Who reads what is pushed: links to their folders, each called after where it leads."""
    for known in sorted(readers.iterdir()):
        place = known.readlink()
        if place.is_relative_to(old):
            moved = new / place.relative_to(old)
            known.unlink()
            (readers / sha256(str(moved).encode()).hexdigest()[:16]).symlink_to(moved)


def save_outputs(sinks: Mapping[str, Sink], folder: Path) -> dict[str, int]:
    """Keep all that was delivered to files, by query; how many files each has."""
    counts: dict[str, int] = {}
    for name, sink in sinks.items():
        if isinstance(sink, Files):
            place = folder / OUTPUTS / name
            place.mkdir(parents=True)
            files = sink.published()
            for file in files:
                _linked(file, place / file.name)
            staging = sink.staging()
            if staging.is_dir():
                _linked(staging, place / staging.name)
            counts[name] = len(files)
    return counts


def put_back_outputs(sinks: Mapping[str, Sink], folder: Path) -> None:
    """Make what is delivered to files what it was, and nothing else."""
    for name, sink in sinks.items():
        if isinstance(sink, Files):
            sink.clear()
            sink.folder.mkdir(parents=True, exist_ok=True)
            place = folder / OUTPUTS / name
            for kept in sorted(place.iterdir()) if place.is_dir() else ():
                _linked(kept, sink.folder / kept.name)


def write_manifest(folder: Path, known: Mapping[str, Any]) -> None:
    """Say what a copy is of: it is whole once this is there."""
    partial = folder / f"{MANIFEST}.partial"
    partial.write_text(json.dumps(known, indent=1))
    partial.replace(folder / MANIFEST)


def manifest_of(folder: Path) -> dict[str, Any]:
    """What a copy is of; an error that says what is wrong with it."""
    path = folder / MANIFEST
    try:
        known: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError("there is no savepoint.", where=str(folder), hint="savepoint --list shows them.") from None
    except (ValueError, OSError) as error:
        raise DataError(f"its description cannot be read: {error}.", where=str(path)) from None
    if known.get("format") != 1:
        raise DataError("it was written by another version.", where=str(path))
    return known


def replaced(work: Path, place: Path) -> None:
    """Put a folder that is whole where another one may be."""
    old = place.with_name(f".{place.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if place.exists():
        place.rename(old)
    work.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def taken(place: Path, fill: Callable[[Path], Mapping[str, Any]]) -> None:
    """Take a savepoint: `fill` puts all of it into a folder and describes it, and that takes the place."""
    work = place.with_name(f".{place.name}.partial")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        write_manifest(work, fill(work))
        replaced(work, place)
    finally:
        shutil.rmtree(work, ignore_errors=True)

"""A fragment's state as one file that can be sent: what its last commit holds, and where it stood on its channels.

Such a file is data from another machine: it holds plain files under names that are checked one by one, in bounds, and
texts of which nothing is believed before it was looked at.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from tradewind.errors import DataError
from tradewind.spark.memory import Commit, last_commit, read_commit

_MOST_FILES, _MOST_BYTES = 100_000, 4 << 30
_MOST_TEXT = 64 << 20
_BLOCK = 1 << 20
_FOLDER = re.compile(r"batch-\d{1,12}/[A-Za-z0-9][A-Za-z0-9_.=-]{0,199}")
_FILE = re.compile(r"memory/batch-\d{1,12}(?:/[A-Za-z0-9][A-Za-z0-9_.=-]{0,249}){2,4}")
_TEXTS = ("manifest.json", "commit.json")


@dataclass(frozen=True, slots=True)
class Said:
    """The last commit of a channel, as far as whoever goes on with it has to know."""

    order: int
    marks: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Where a fragment stood: how far it had read its channels, by the order of their commits, what it had said on its
    own, and into how many buckets what it remembers is dealt.
    """

    read: Mapping[str, int | None] = field(default_factory=dict)
    said: Mapping[str, Said | None] = field(default_factory=dict)
    buckets: int = 1


@dataclass(frozen=True, slots=True)
class Packed:
    """A file that holds a fragment's state: its SHA-256 and size, and how many bytes of state are in it."""

    digest: str
    size: int
    state_bytes: int


def order_of(batch: int, closing: bool) -> int:
    """Where a commit stands among those of its channel, as one number.

    >>> order_of(7, False), order_of(7, True), order_of(8, False)
    (14, 15, 16)
    """
    return 2 * batch + closing


def pack(memory: Path, manifest: Manifest, path: Path) -> Packed:
    """Put what a memory's last commit holds into a file."""
    commit = last_commit(memory)
    texts = dict(zip(_TEXTS, (json.dumps(asdict(manifest)), json.dumps(asdict(commit))), strict=True))
    state = 0
    with (
        pa.OSFile(str(path), "wb") as raw,
        pa.CompressedOutputStream(raw, "zstd") as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        for name, text in texts.items():
            content = text.encode()
            archive.addfile(_member(name, len(content)), io.BytesIO(content))
        for file in _files(memory, commit):
            size = file.stat().st_size
            with file.open("rb") as content_of:
                archive.addfile(_member(f"memory/{file.relative_to(memory).as_posix()}", size), content_of)
            state += size
    return Packed(digest_of(path), path.stat().st_size, state)


def digest_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(path: Path, folder: Path) -> tuple[Manifest, Commit]:
    """Take a file apart into an empty folder: what is remembered comes below `memory`. The rest is told."""
    texts: dict[str, str] = {}
    try:
        with (
            pa.OSFile(str(path), "rb") as raw,
            pa.CompressedInputStream(raw, "zstd") as packed,
            tarfile.open(fileobj=packed, mode="r|") as archive,
        ):
            for member, content in _members(archive):
                if member.name in _TEXTS and member.size <= _MOST_TEXT and member.name not in texts:
                    texts[member.name] = content.read().decode()
                elif _FILE.fullmatch(member.name):
                    _copied(content, folder / member.name)
                else:
                    raise _wrong(f"it holds {member.name[:80]!r}")
        commit = _checked(read_commit(texts["commit.json"]))
        for place in commit.used:
            (folder / "memory" / place).mkdir(parents=True, exist_ok=True)
        return _manifest(json.loads(texts["manifest.json"])), commit
    except (OSError, tarfile.TarError, pa.ArrowException, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, DataError):
            raise
        raise _wrong(f"{type(error).__name__}: {str(error)[:200]}") from None


def _files(memory: Path, commit: Commit) -> Iterator[Path]:
    """The files that count. What Spark puts beside them to know that they are whole is left out."""
    for place in sorted(commit.used):
        for file in sorted((memory / place).rglob("*")):
            if file.is_file() and not file.name.startswith((".", "_")):
                yield file


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


def _members(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, BinaryIO]]:
    files, total = 0, 0
    for member in archive:
        files, total = files + 1, total + member.size
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise _wrong(f"{member.name[:80]!r} is no plain file")
        if files > _MOST_FILES or total > _MOST_BYTES:
            raise _wrong("it is too large")
        yield member, content  # type: ignore[misc]  # what is read from is binary


def _copied(content: BinaryIO, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        while block := content.read(_BLOCK):
            file.write(block)


def _checked(commit: Commit) -> Commit:
    """A commit that names nothing but folders of its memory, and no types that would have to be loaded."""
    for place in commit.used:
        if not _FOLDER.fullmatch(place):
            raise _wrong(f"it names {place[:80]!r}")
    for schema in commit.schemas.values():
        _plain_type(json.loads(schema))
    return replace(commit, batch=int(commit.batch), notes=dict(commit.notes))


def _plain_type(found: Any) -> None:
    """A type of Spark's that is made of its own ones: others name classes, which are loaded when they are read."""
    if isinstance(found, dict):
        if found.get("type") == "udt":
            raise _wrong("it holds types that are not Spark's own")
        for value in found.values():
            _plain_type(value)
    elif isinstance(found, list):
        for value in found:
            _plain_type(value)


def _manifest(data: Any) -> Manifest:
    said = {
        str(name): None if one is None else Said(int(one["order"]), {str(o): int(m) for o, m in one["marks"].items()})
        for name, one in data["said"].items()
    }
    read = {str(name): None if order is None else int(order) for name, order in data["read"].items()}
    return Manifest(read, said, max(1, int(data["buckets"])))


def _wrong(what: str) -> DataError:
    return DataError(f"a fragment's state cannot be read: {what}.", hint="both sites need the same version.")

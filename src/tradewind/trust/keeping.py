"""Files that others must not read, and that are there whole or not at all, whatever dies when."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tradewind.trust.errors import TrustError


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Makes the folder if need be; nobody else who asks for the same lock is inside, be it a thread or a process."""
    _private(folder)
    with explained(folder / f"{what}.lock"):
        descriptor = os.open(folder / f"{what}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        # Said aloud: a process that was forked meanwhile holds the same lock, and closing alone would leave it locked.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def keep(path: Path, content: bytes) -> None:
    """Writes a file that is whole when it can be seen, and outlives a cut of power. Call it under a lock."""
    partial = path.with_name(f"{path.name}.partial")
    with explained(path):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        partial.replace(path)
        settle(path.parent)


def keep_json(path: Path, document: dict[str, Any]) -> None:
    """Writes a document as `keep` does."""
    keep(path, json.dumps(document, sort_keys=True).encode())


def kept(path: Path) -> bytes | None:
    """What a file holds, None if there is none."""
    with explained(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def kept_json(path: Path) -> dict[str, Any] | None:
    """The document in a file, None if there is none. One that cannot be read is an error, never an empty one: a list
    of those who are cut off must not become empty by itself.
    """
    content = kept(path)
    if content is None:
        return None
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise damaged(path)
    return document


def damaged(path: Path) -> TrustError:
    """The error for a file that holds something else than was written."""
    return TrustError("the file is damaged.", where=str(path), hint="bring it back from a backup.")


def settle(folder: Path) -> None:
    """Makes sure that new and renamed files of a folder outlive a cut of power."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Says what to do when files cannot be used."""
    try:
        yield
    except OSError as error:
        raise TrustError(
            f"cannot be read or written: {error.strerror}.",
            where=str(path),
            hint="keys are kept in a folder of their own, which belongs to the user who runs Tradewind.",
        ) from None


def _private(folder: Path) -> None:
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if folder.stat().st_mode & 0o777 != 0o700:
            folder.chmod(0o700)

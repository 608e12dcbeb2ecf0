"""Records as they lie in files: lines, cut out of any file or part of one, in blocks that fit into memory.

A line that is longer than allowed is never held: it is passed over, and its beginning is kept for the dead letter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

SHOWN = 10_240
"""So many bytes of a bad record are kept."""

BLOCK = 8 << 20
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}
_MARK = b"\xef\xbb\xbf"  # what some editors put before UTF-8


UNREADABLE = (OSError, EOFError, pa.ArrowInvalid)
"""What reading a damaged file raises."""

DAMAGED = (*UNREADABLE, pa.ArrowException, UnicodeDecodeError, OverflowError)
"""What reading a damaged file raises if the file describes itself: what it says may be wrong in any way."""


class Letter(NamedTuple):
    """A record that cannot be read: its number in the file (or part of it), counted from 0, why, and its beginning."""

    number: int
    reason: str
    record: bytes


class Part(NamedTuple):
    """Bytes of a file that one task reads; `end` is None for a whole file. Lines belong to where they begin."""

    file: str
    start: int = 0
    end: int | None = None


class Block(NamedTuple):
    """Whole lines, each with its newline; the number of the first; letters for those that are left out."""

    data: bytes
    first: int
    letters: tuple[Letter, ...] = ()


def unreadable(error: Exception) -> str:
    """Why a file cannot be opened or read on."""
    return f"the file cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"


def suffix_of(file: str) -> str:
    """The ending of a file's name that tells how it is compressed; an empty text for files that are not."""
    return next((suffix for suffix in COMPRESSED if file.endswith(suffix)), "")


def pieces(part: Part, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a part's lines, in pieces of any length."""
    with pa.input_stream(part.file, compression=COMPRESSED.get(suffix_of(part.file))) as stream:
        if part.end is None:
            while piece := stream.read(size):
                yield piece
            return
        at = max(part.start - 1, 0)
        stream.seek(at)
        begun = part.start == 0
        while piece := stream.read(size):
            if not begun:
                cut = piece.find(b"\n") + 1
                if not cut and at + len(piece) < part.end:
                    at += len(piece)
                    continue
                if not cut or at + cut >= part.end:
                    return
                begun, piece, at = True, piece[cut:], at + cut
            # A line that begins before the end is read to its own end.
            last = piece.find(b"\n", max(part.end - 1 - at, 0)) if at + len(piece) >= part.end else -1
            yield piece if last < 0 else piece[: last + 1]
            if last >= 0:
                return
            at += len(piece)


def blocks(part: Part, longest: int, size: int = BLOCK) -> Iterator[Block]:
    """The lines of a part, none of them longer than allowed."""
    lines = _Lines(longest)
    beginning = part.start == 0
    try:
        for piece in pieces(part, size):
            if beginning:
                piece, beginning = piece.removeprefix(_MARK), False
            block = lines.take(piece)
            if block is not None:
                yield block
    except UNREADABLE as error:
        yield Block(b"", lines.number, (Letter(lines.number, unreadable(error), lines.pending),))
        return
    yield lines.end()


class _Lines:
    """Whole lines out of pieces. What waits for its newline is held, unless it is too long."""

    def __init__(self, longest: int) -> None:
        self.number = 0
        self.pending = b""
        self._longest = longest
        self._length = 0
        """Of the waiting line, which may be longer than what is held of it."""
        self._letters: list[Letter] = []

    def take(self, piece: bytes) -> Block | None:
        """One more piece; the lines that it completes."""
        cut = piece.rfind(b"\n") + 1
        if not cut:
            self._wait(piece)
            return None
        end = piece.find(b"\n")
        self._wait(piece[:end])
        block = self._block(self._line() + piece[end:cut])
        self._wait(piece[cut:])
        return block

    def end(self) -> Block:
        """What is left: a last line without a newline."""
        return self._block(self._line() + b"\n" if self._length else b"")

    def _wait(self, piece: bytes) -> None:
        self._length += len(piece)
        self.pending = (self.pending + piece)[: self._longest if self._length <= self._longest else SHOWN]

    def _line(self) -> bytes:
        """The line that was waiting. If it is too long its place is kept by an empty one, which means nothing."""
        line = self.pending
        if self._length > self._longest:
            self._letters.append(self._too_long(self.number, line))
            line = b""
        self.pending, self._length = b"", 0
        return line

    def _block(self, data: bytes) -> Block:
        first = self.number
        if len(data) > self._longest + 1:
            lines = data.split(b"\n")
            for number, line in enumerate(lines):
                if len(line) > self._longest:
                    self._letters.append(self._too_long(first + number, line))
                    lines[number] = b""
            data = b"\n".join(lines)
        self.number += data.count(b"\n")
        letters, self._letters = tuple(self._letters), []
        return Block(data, first, letters)

    def _too_long(self, number: int, line: bytes) -> Letter:
        return Letter(number, f"the record is longer than {self._longest} bytes", line[:SHOWN])

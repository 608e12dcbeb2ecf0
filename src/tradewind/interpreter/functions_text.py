"""What the functions on texts do. Positions and lengths count characters, not bytes."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable
from functools import lru_cache

from tradewind.interpreter.values import Value


def _like(text: str, pattern: str) -> bool | None:
    """Whether the whole text fits a pattern; None when the pattern's backslashes make no sense."""
    compiled = _compiled(pattern)
    return None if compiled is None else compiled.fullmatch(text) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    pieces = [""]
    signs = iter(pattern)
    for sign in signs:
        if sign == "\\":
            sign = next(signs, "")
            if sign not in ("\\", "_", "%"):
                return None
            pieces[-1] += re.escape(sign)
        elif sign == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if sign == "_" else re.escape(sign)
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    # Each middle piece may settle for its first place, so there is nothing to go back to and time stays linear.
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)


def _concat_ws(separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """From a position that counts from 1, or from the end when negative; before the start, the length is used up."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _left(text: str, length: int) -> str:
    return text[: max(length, 0)]


def _right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _replace(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _split_part(text: str, delimiter: str, number: int) -> str | None:
    if number == 0:
        return None
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _padding(text: str, length: int, pad: str) -> str:
    """What is missing to the length."""
    missing = max(length - len(text), 0)
    return (pad * (missing // len(pad) + 1))[:missing] if pad else ""


def _lpad(text: str, length: int, pad: str = " ") -> str:
    return _padding(text, length, pad) + text[: max(length, 0)]


def _rpad(text: str, length: int, pad: str = " ") -> str:
    return text[: max(length, 0)] + _padding(text, length, pad)


def _raw(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


PLAIN: dict[str, Callable[..., Value]] = {
    "like": _like,
    "upper": str.upper,
    "lower": str.lower,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "reverse": lambda text: text[::-1],
    "length": len,
    "concat": lambda *texts: "".join(texts),
    "concat_ws": _concat_ws,
    "substring": _substring,
    "left": _left,
    "right": _right,
    "replace": _replace,
    "split_part": _split_part,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": lambda text, part: part in text,
    "instr": lambda text, part: text.find(part) + 1,
    "lpad": _lpad,
    "rpad": _rpad,
    "crc32": lambda value: zlib.crc32(_raw(value)),
    "md5": lambda value: hashlib.md5(_raw(value), usedforsecurity=False).hexdigest(),
}

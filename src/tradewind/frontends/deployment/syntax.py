"""What is said of a text that is not YAML: where, in a person's words, and what to do."""

from __future__ import annotations

import re

import yaml

_BLOCK = re.compile(r"[:-] +[|>][-+0-9]*\s*(?: #.*)?$")
_LOOK_BACK = 200
"""So many lines above a fault, the text that it stands in may have begun."""


def complaint_of(error: yaml.MarkedYAMLError, text: str) -> tuple[int, int, str, str | None]:
    """Line and column from 1, what is wrong, and a hint."""
    mark = error.problem_mark or error.context_mark
    if "end of stream" in (error.problem or ""):
        mark = error.context_mark or mark  # where it began tells more than where the file ends
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    lines = text.split("\n")
    flat = _unindented(lines, error.context_mark.line if error.context_mark else line - 1)
    if flat is not None:
        what = "the text below '|' is not indented."
        return flat + 1, _depth(lines[flat]) + 1, what, "indent the text below '|' further than its key."
    here = lines[line - 1] if line <= len(lines) else ""
    hint = None
    if "\t" in here[: _depth(here)] or here[column - 1 : column] == "\t":
        hint = "YAML is indented by spaces, never by tabs."
    elif "mapping values" in (error.problem or ""):
        hint = "put a text that holds ': ' in quotes, or below a '|'."
    what = ", ".join(part for part in (error.context, error.problem) if part)
    return line, column, f"not YAML: {what}.", hint


def _unindented(lines: list[str], number: int) -> int | None:
    """The first line of the text below a '|' that is no further in than its key, where a line stands in such a text."""
    below = number
    for above in range(min(number, len(lines)) - 1, max(-1, number - _LOOK_BACK), -1):
        if _BLOCK.search(lines[above]):
            return below if below < len(lines) and _depth(lines[below]) <= _depth(lines[above]) else None
        if lines[above].strip():
            below = above
    return None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())

"""What the documentation shows as printed by a command is what that command prints."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.test_docs import FENCE, PAGES, ROOT, TRADEWIND

SHOWN = re.compile(r"^\$ (?:\S*/)?(?:tradewind|dev) ((?:plan|explain|check) .*)$", re.MULTILINE)
"""Commands that print the same every time."""

OMITTED = "..."


PARTS = re.compile(rf"{FENCE.pattern}|^#+ [^\n]*$", FENCE.flags)
"""Blocks, and the headings between them."""


def printed_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each `text` block that follows, under the same heading, a `console` block with such a command, and it."""
    command = None
    for part in PARTS.finditer(text):
        language, block = part[1], part[2]
        if language == "text" and command is not None:
            yield command, block
        found = SHOWN.findall(block) if language == "console" else []
        command = found[-1] if found else None


def missing(block: str, printed: str) -> list[str]:
    """The first line of each part of a block that the command did not print, or not in this order."""
    lines = [line.rstrip() for line in printed.splitlines()]
    parts: list[list[str]] = [[]]
    for line in block.splitlines():
        if line.strip() == OMITTED:
            parts.append([])
        else:
            parts[-1].append(line.rstrip())
    begin = 0
    for part in parts:
        for at in range(begin, len(lines) - len(part) + 1):
            if lines[at : at + len(part)] == part:
                begin = at + len(part)
                break
        else:
            return [line for line in part if line not in lines] or part
    return []


BLOCKS = [
    pytest.param(command, block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, (command, block) in enumerate(printed_blocks(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize(("command", "block"), BLOCKS)
def test_what_is_shown_is_what_is_printed(command: str, block: str, tmp_path: Path) -> None:
    words = [str(tmp_path / word) if word.endswith(".svg") else word for word in shlex.split(command)]
    done = subprocess.run([TRADEWIND, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert missing(block, done.stdout + done.stderr) == []


def test_there_are_such_blocks_in_the_readme_and_the_pages() -> None:
    assert {str(one.id).partition(".")[0] for one in BLOCKS} >= {"README", "planning"}


def test_a_figure_that_has_changed_is_found() -> None:
    page = "```console\n$ tradewind plan x.yaml\n```\n\nprints\n\n```text\n...\na 1\nb 2\n...\nc 3\n```\n"
    ((command, block),) = printed_blocks(page)
    assert command == "plan x.yaml"
    assert missing(block, "head\na 1\nb 2\nx\nc 3\n") == []
    assert missing(block, "head\na 1\nb 3\nx\nc 3\n") == ["b 2"]
    assert missing(block, "c 3\na 1\nb 2\n") == ["c 3"]
    assert not list(printed_blocks(page.replace("plan", "run")))
    assert not list(printed_blocks(page.replace("prints", "## Another thing")))

"""The documentation's commands and programs run, and its links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster import documented

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
TRADEWIND = Path(sys.executable).with_name("tradewind")
TOO_LONG_HERE = {"setup", "test", "lint", "lock", "bench", "docs", "demo"}
"""Sub-commands of ./dev that would run these tests again, or change the environment that they run in; the demonstration
runs in tests/cli, with less data.
"""


def blocks(kind: str) -> list:
    found = []
    for page in PAGES:
        for number, (language, text) in enumerate(FENCE.findall(page.read_text(encoding="utf-8"))):
            if language == kind:
                found.append(pytest.param(text, id=f"{page.name}-{number}"))
    return found


def commands() -> list:
    lines = {
        line[2:].strip(): f"{page.name}: {line[2:]}"
        for page in PAGES
        for _, text in FENCE.findall(page.read_text(encoding="utf-8"))
        for line in text.splitlines()
        if line.startswith("$ ")
    }
    # Those that make a cluster go on beside each other: tests/cluster/test_readme.py types them.
    together = documented.on_one_machine()
    return [pytest.param(line, id=name) for line, name in lines.items() if line not in together]


@pytest.mark.parametrize("line", commands())
def test_commands_run(line: str, tmp_path: Path) -> None:
    words = shlex.split(line)
    if words[0] == "./dev":
        helped = subprocess.run([ROOT / "dev", "help"], capture_output=True, text=True, check=True).stdout
        assert re.search(rf"^  {words[1]} ", helped, re.MULTILINE)
        if words[1] in TOO_LONG_HERE:
            return
        words = ["tradewind", *words[1:]]
    assert words[0] in ("tradewind", ".venv/bin/tradewind"), f"only tradewind and ./dev are run: {line}"
    arguments = [str(tmp_path / word) if word.endswith((".svg", ".html")) else word for word in words[1:]]
    done = subprocess.run([TRADEWIND, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_readme_writes_commands_that_a_fresh_clone_has() -> None:
    """On a fresh machine nothing is on the path: what is typed is in the clone, or is made there by ./dev."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    typed = [line[2:].split()[0] for _, block in FENCE.findall(text) for line in block.splitlines() if line[:2] == "$ "]
    assert typed[0] == "./dev"
    typed += [command.split()[0] for _, command in documented.typed()]
    assert set(typed) <= {"./dev", ".venv/bin/tradewind"}


@pytest.mark.parametrize("text", blocks("python"))
def test_programs_run(text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(text, "documentation", "exec"), {"__name__": "__docs__"})
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"

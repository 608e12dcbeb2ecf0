"""Every broken deployment file: exit 2, the problems on stderr, nothing on stdout, no traceback."""

import sys
from pathlib import Path

import pytest

from tradewind.cli.main import main

BROKEN = sorted((Path(__file__).parents[1] / "frontends" / "broken").glob("*.yaml"))


def test_there_are_at_least_sixty() -> None:
    assert len(BROKEN) >= 60


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_file_is_told_and_nothing_else_happens(
    path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tradewind", command, str(path)])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert left.value.code == 2
    assert said.out == ""
    assert "Traceback" not in said.err
    assert said.err.rstrip().endswith(("problem.", "problems."))
    assert str(path) in said.err

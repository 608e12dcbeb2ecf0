"""`./dev` in a folder whose environment is there already, so that nothing is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with the commands, and an environment that looks finished."""
    shutil.copy(ROOT / "dev", tmp_path / "dev")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    for stamp, file in (("stamp-tools", "requirements-dev.lock"), ("stamp-package", "pyproject.toml")):
        (tmp_path / file).write_text("")
        made_from = f"{tmp_path}\n".encode()
        sums = subprocess.run(["cksum"], input=made_from, capture_output=True, check=True).stdout
        (tmp_path / ".venv" / stamp).write_bytes(sums)
    return tmp_path


def dev(clone: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(clone / "java")}
    return subprocess.run([clone / "dev", *words], capture_output=True, text=True, check=False, env=environment)


def test_setup_says_what_was_made_and_what_comes_next(clone) -> None:
    done = dev(clone, "setup")
    assert done.returncode == 0, done.stderr
    first, *following = done.stdout.splitlines()
    assert first.startswith(f"{clone}/.venv holds Tradewind")
    commands = [re.sub(r"^Next: ", "", line).strip().split("  ")[0] for line in following]
    assert commands == [
        "./dev demo", ".venv/bin/tradewind check examples/cdn.yaml", ".venv/bin/tradewind plan examples/cdn.yaml",
    ]  # fmt: skip
    assert all(len(line) <= 100 for line in following)
    assert all((ROOT / command.split()[2]).exists() for command in commands[1:])


def test_other_commands_set_up_in_silence(clone) -> None:
    (clone / "benchmarks").mkdir()
    (clone / "benchmarks" / "nothing.py").write_text("print('ran')")
    done = dev(clone, "bench", "nothing")
    assert (done.stdout, done.stderr) == ("ran\n", "")

"""Java's archive: where it is, that it is used where it is there, and that one that does not fit is no obstacle."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tradewind.spark import archive, java


def test_it_is_for_one_java_and_goes_with_the_environment(tmp_path, monkeypatch) -> None:
    found = archive.place()
    assert found is not None
    assert Path(sys.prefix) in found.parents
    other = tmp_path / "bin" / "java"
    other.parent.mkdir()
    other.write_text("")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    another = archive.place()
    assert another is not None
    assert another.parent == found.parent
    assert another != found
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    outside = archive.place()
    assert outside is not None
    assert outside.parent == tmp_path / "caches" / "tradewind"
    assert archive.used() == ""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert archive.place() is None
    assert archive.used() == ""


def test_one_that_does_not_fit_is_passed_over_in_silence(tmp_path, monkeypatch) -> None:
    program = java.program()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = archive.place()
    assert found is not None
    found.parent.mkdir(parents=True)
    found.write_bytes(b"nonsense" * 10_000)
    done = subprocess.run(
        [str(program), *archive.used().split(), "-version"], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0
    assert "version" in done.stderr
    assert "cds" not in done.stdout + done.stderr


@pytest.mark.spark
def test_spark_uses_it(spark) -> None:
    found = archive.place()
    if found is None or not found.exists():
        pytest.skip("there is no archive: tradewind prepare makes it")
    process = spark.sparkContext._gateway.proc.pid
    assert str(found) in Path(f"/proc/{process}/maps").read_text()


@pytest.mark.parametrize(("version", "helped"), [("17.0.15", False), ("24", False), ("25.0.1", True), (None, True)])
def test_java_is_only_told_what_its_version_knows(tmp_path, monkeypatch, version, helped) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("")
    if version is not None:
        (tmp_path / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert ("VFORK" not in java.options()) == helped
    assert "-Xss16m" in java.options()

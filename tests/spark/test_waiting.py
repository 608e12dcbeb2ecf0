"""A run waits for a source folder that is not there yet, and never makes it."""

from __future__ import annotations

import threading

import pytest

import tradewind as tw
from tests.runtime.deployments import delivered, rows, write
from tests.runtime.test_looking import FILE
from tradewind.runtime.live import Live
from tradewind.spark.sources.lacking import not_there

pytestmark = pytest.mark.spark


def test_a_live_run_waits_for_a_folder_that_it_does_not_make(spark, tmp_path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(FILE)
    folder = tmp_path / "data" / "requests"
    read = threading.Event()
    reports = []

    def on_batch(report) -> None:
        reports.append(report)
        if sum(one.rows for each in reports for one in each.origins.values()) == 20:
            read.set()

    live = Live(
        tw.deployment(path), state=tmp_path / "state", spark=spark, until_done=False, interval=0.1, on_batch=on_batch
    )
    assert not_there(folder)
    [warning] = live.warnings
    assert f"there is no {folder} yet" in warning
    with live:
        assert not live.wait(0.5)
        assert not (tmp_path / "data").exists()
        made = tmp_path / "made"
        write(made, rows(20, 1), tw.deployment(path).streams["requests"].source.schema, 0, 2)
        folder.parent.mkdir()
        made.rename(folder)
        assert read.wait(60)
    # The next run finds the folder there, and nothing new in it.
    with Live(tw.deployment(path), state=tmp_path / "state", spark=spark) as again:
        again.wait()
        assert again.read()["requests", "here"].rows == 20
    assert sum(delivered(path)["all"].values()) == 20

"""A state folder is gone on from, by the queries that it belongs to; or forgotten."""

from __future__ import annotations

import os
import signal

import pytest

import tradewind as tw
from tests.runtime.deployments import FILE, delivered, lay_out, meant, rows
from tests.spark.conftest import spark
from tradewind.cli.run import _interruptible
from tradewind.errors import InputError

pytestmark = pytest.mark.spark

__all__ = ["spark"]


def test_without_news_nothing_is_delivered_and_fresh_starts_again(spark, tmp_path) -> None:
    given = rows(200, 7)
    path = lay_out(tmp_path, given)
    files = []
    for _ in range(2):
        with tw.deployment(path).run(state=tmp_path / "state", spark=spark) as live:
            live.wait()
        assert delivered(path) == meant(path, given)
        files.append(sorted((tmp_path / "out").rglob("batch-*")))
    assert files[0] == files[1] != []

    path.write_text(FILE.replace("status < 500", "status < 400"))
    with pytest.raises(InputError, match="query 'per_minute' changed in the filter"):
        tw.deployment(path).run(state=tmp_path / "state", spark=spark)
    with tw.deployment(path).run(state=tmp_path / "state", spark=spark, fresh=True) as live:
        live.wait()
    assert delivered(path) == meant(path, given)


def test_a_run_that_died_as_it_wrote_down_its_first_batch_goes_on(spark, tmp_path) -> None:
    given = rows(100, 8)
    path = lay_out(tmp_path, given)
    # As Spark leaves it where there is no room, or when it is killed: written, and not yet called by its name.
    unfinished = [tmp_path / "state" / "offsets" / folder / ".0.5d1c.tmp" for folder in ("offsets", "commits")]
    for one in unfinished:
        one.parent.mkdir(parents=True)
        one.write_text("v1\n{")
    with tw.deployment(path).run(state=tmp_path / "state", spark=spark) as live:
        live.wait()
    assert delivered(path) == meant(path, given)
    assert not any(one.exists() for one in unfinished)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_are_noted_while_a_run_is_watched_and_not_after(number) -> None:
    before = signal.getsignal(number)
    with _interruptible() as seen:
        os.kill(os.getpid(), number)
        assert seen == [number]
    assert signal.getsignal(number) == before

"""Rows that are pushed fast are gathered: all of them, in order, and a failure is told."""

from __future__ import annotations

import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tradewind.algebra.schema import parse_schema
from tradewind.errors import DataError, RunError
from tradewind.spark.sources.gathering import Gatherer
from tradewind.spark.sources.push import Inbox

SCHEMA = parse_schema("v BIGINT")


def values(folder):
    return [v for file in sorted(folder.glob("rows-*.parquet")) for v in pq.read_table(file)["v"].to_pylist()]


def test_everything_is_there_after_a_flush_in_the_order_in_which_it_came(tmp_path) -> None:
    gatherer = Gatherer(Inbox(tmp_path, SCHEMA))
    for first in range(0, 3_000, 3):
        assert gatherer.enqueue(pa.table({"v": [first, first + 1, first + 2]})) == 3
    assert gatherer.enqueue([]) == 0
    gatherer.flush()
    assert values(tmp_path) == list(range(3_000))
    assert len(list(tmp_path.iterdir())) < 1_000
    gatherer.close()


def test_what_waits_is_written_at_the_end_and_threads_do_not_lose_rows(tmp_path) -> None:
    gatherer = Gatherer(Inbox(tmp_path, SCHEMA))
    threads = [
        threading.Thread(target=lambda n=n: [gatherer.enqueue([(n * 100 + i,)]) for i in range(100)]) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gatherer.close()
    found = values(tmp_path)
    assert sorted(found) == list(range(400))
    for n in range(4):
        assert [v for v in found if v // 100 == n] == list(range(n * 100, n * 100 + 100))


class SlowInbox(Inbox):
    """Writes nothing until it may."""

    def __init__(self, folder, schema):
        super().__init__(folder, schema)
        self.may = threading.Event()

    def write(self, table):
        self.may.wait(30)
        super().write(table)


def test_more_than_may_wait_is_held_back_and_comes_through(tmp_path) -> None:
    inbox = SlowInbox(tmp_path, SCHEMA)
    gatherer = Gatherer(inbox)
    table = pa.table({"v": range(2_000_000)})
    pushed: list[int] = []
    pusher = threading.Thread(target=lambda: pushed.extend(gatherer.enqueue(table) for _ in range(20)))
    pusher.start()
    pusher.join(2)
    # 16 MB each, so that four may wait, while up to four are being written.
    assert pusher.is_alive()
    assert 4 < len(pushed) <= 8
    inbox.may.set()
    pusher.join(60)
    gatherer.close()
    assert sum(pq.read_metadata(file).num_rows for file in tmp_path.glob("rows-*.parquet")) == 40_000_000


def test_rows_that_do_not_fit_are_refused_at_once(tmp_path) -> None:
    gatherer = Gatherer(Inbox(tmp_path, SCHEMA))
    with pytest.raises(DataError):
        gatherer.enqueue(pa.table({"w": [1]}))
    gatherer.close()
    assert values(tmp_path) == []


def obstructed(tmp_path):
    """An inbox that cannot be written to, with a row on its way there."""
    folder = tmp_path / "inbox"
    gatherer = Gatherer(Inbox(folder, SCHEMA))
    folder.rmdir()
    folder.write_text("in the way")
    gatherer.enqueue([(1,)])
    return folder, gatherer


def test_rows_that_could_not_be_written_are_kept_and_written_by_the_next_flush(tmp_path) -> None:
    folder, gatherer = obstructed(tmp_path)
    with pytest.raises(RunError, match="1 pushed rows could not be written"):
        gatherer.flush()
    with pytest.raises(RunError, match="could not be written"):
        gatherer.enqueue([(2,)])
    folder.unlink()
    folder.mkdir()
    gatherer.flush()
    assert gatherer.enqueue([(3,)]) == 1
    gatherer.close()
    assert values(folder) == [1, 3]


def test_the_end_tells_what_could_not_be_written_and_ends_all_the_same(tmp_path) -> None:
    _, gatherer = obstructed(tmp_path)
    with pytest.raises(RunError, match="could not be written"):
        gatherer.close()
    assert not [thread for thread in threading.enumerate() if thread is gatherer._writer]

"""Several fragments read one origin of a site: each reads every row once, whenever it comes, goes or starts again."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from tradewind.algebra.schema import parse_schema
from tradewind.spark.sources import generator
from tradewind.spark.sources.generator import TriggerFiles, begun, follow, leave, merged, span_of
from tradewind.spark.sources.push import Inbox, subscribe

SCHEMA = parse_schema("v BIGINT")
READERS = ("one", "two", "three")


def taken(folder: Path, many: int | None = None) -> list[Path]:
    """What Spark does with files of ours: it reads some in the order of their times, and removes them."""
    files = sorted(folder.glob("rows-*"), key=lambda file: (file.stat().st_mtime_ns // 1_000_000, file.name))[:many]
    return [file.rename(folder / f".read-{file.name}") for file in files]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("due"), st.integers(0, 250_000)),
            st.tuples(st.sampled_from(["read", "restart"]), st.sampled_from(READERS)),
        ),
        max_size=25,
    )
)
def test_readers_of_generated_rows_are_independent(tmp_path_factory, steps) -> None:
    """Each has every row once and in order, whatever the others do, and wherever it starts again."""
    folder = tmp_path_factory.mktemp("rate")
    files = {name: TriggerFiles(folder / name) for name in READERS}
    spans: dict[str, list] = {name: [] for name in READERS}
    due = 0

    def read(name: str) -> None:
        spans[name] += [span_of(Path(file.name.removeprefix(".read-"))) for file in taken(folder / name, 3)]

    for step, what in steps:
        match step, what:
            case "due", int(more):
                due += more
            case "read", str(name):
                files[name].issue_up_to(due)
                read(name)
            case "restart", str(name):
                files[name] = TriggerFiles(folder / name)
    for name in READERS:
        files[name].issue_up_to(due)
        while list((folder / name).glob("rows-*")):
            read(name)
        assert spans[name] == sorted(spans[name])
        assert merged(spans[name]) == ([(0, due)] if due else [])
        assert all(span.end - span.first <= 100_000 for span in spans[name])


def test_a_clock_is_the_same_for_all_who_follow_it_and_goes_on_where_it_stopped(tmp_path) -> None:
    clock, rate = tmp_path / "clock", 20_000
    first, second = TriggerFiles(tmp_path / "first"), TriggerFiles(tmp_path / "second")
    moment = begun(clock)
    follow(clock, rate, first)
    _until(lambda: first.issued() > 2_000)
    follow(clock, rate, second)
    assert second.issued() >= 2_000, "who comes later gets the rows from the first one on"
    leave(clock, first)
    stopped = first.issued()
    _until(lambda: second.issued() > stopped)
    leave(clock, second)
    assert not generator._clocks
    due = second.issued()
    assert (first.issued(), begun(clock)) == (stopped, moment)
    again = TriggerFiles(tmp_path / "first")
    follow(clock, rate, again)
    try:
        assert again.issued() >= due, "what fell due while it was away is made up for"
    finally:
        leave(clock, again)
    for folder in ("first", "second"):
        spans = merged([span_of(file) for file in (tmp_path / folder).glob("rows-*")])
        assert [span.first for span in spans] == [0]


def test_a_reader_whose_folder_is_gone_does_not_stop_the_clock(tmp_path) -> None:
    clock = tmp_path / "clock"
    gone, stays = TriggerFiles(tmp_path / "gone"), TriggerFiles(tmp_path / "stays")
    follow(clock, 20_000, gone)
    follow(clock, 20_000, stays)
    try:
        shutil.rmtree(tmp_path / "gone")
        before = stays.issued()
        _until(lambda: stays.issued() > before)
    finally:
        leave(clock, gone)
        leave(clock, stays)


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("push"), st.integers(1, 3)),
            st.tuples(st.sampled_from(["subscribe", "read", "remove"]), st.sampled_from(READERS)),
        ),
        max_size=25,
    )
)
def test_readers_of_pushed_rows_are_independent(tmp_path_factory, steps) -> None:
    """Each has every row once that came after it, and the first also those that nobody has read yet."""
    folder = tmp_path_factory.mktemp("push")
    inbox = Inbox(folder / "inbox", SCHEMA)
    expected: dict[str, list[int]] = {}
    read: dict[str, list[int]] = {}
    waiting: list[int] = []
    pushed = 0

    def take(name: str) -> None:
        for file in taken(folder / name):
            read[name] += pq.read_table(file)["v"].to_pylist()

    for step, what in steps:
        match step, what:
            case "push", int(many):
                rows = list(range(pushed, pushed + many))
                inbox.enqueue([(value,) for value in rows])
                pushed += many
                for values in expected.values():
                    values += rows
                if not expected:
                    waiting += rows
            case "subscribe", str(name) if name not in expected:
                subscribe(folder / "inbox", folder / name)
                expected[name], read[name] = list(waiting), []
                waiting.clear()
            case "subscribe", str(name):
                subscribe(folder / "inbox", folder / name)  # it starts again
            case "read", str(name) if name in expected:
                take(name)
            case "remove", str(name) if name in expected:
                shutil.rmtree(folder / name)
                del expected[name], read[name]
    for name in expected:
        take(name)
    assert read == expected


def _until(holds) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)

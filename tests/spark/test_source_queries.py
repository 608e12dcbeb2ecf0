"""Sources in a query: new files are found whatever they are called, pushed rows and generated ones among them."""

from __future__ import annotations

import os
import threading
from functools import reduce
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from tests.spark.sources.batches import SECOND, Site, bag, declared, simple, written
from tests.spark.sources.writing import ALL, SIMPLE
from tradewind.errors import InputError
from tradewind.spark.intake import leaves_of
from tradewind.spark.sources.push import Inbox
from tradewind.spark.sources.reading import Folders, files_of, reader
from tradewind.spark.sources.survey import Survey
from tradewind.spark.types import to_arrow

pytestmark = pytest.mark.spark


class Watch:
    """A streaming query over readers that notes which files each batch holds, and fails when told to."""

    def __init__(self, spark, readers, folder: Path) -> None:
        self.spark, self.readers, self.folder = spark, readers, folder
        self.batches: dict[int, list[list[Path]]] = {}
        self.fails_at: int | None = None

    def run(self, *, wait: bool = False, interval: str | None = None):
        frame = reduce(DataFrame.unionByName, [one.tracked(self.spark, wait=wait) for one in self.readers])
        started = threading.Event()

        def batch(_, number: int) -> None:
            started.wait()
            self.batches[number] = [files_of(leaf) for leaf in leaves_of(query)]
            if number == self.fails_at:
                raise RuntimeError("told to")

        writer = frame.writeStream.foreachBatch(batch).option("checkpointLocation", str(self.folder / "offsets"))
        timed = writer.trigger(processingTime=interval) if interval else writer.trigger(availableNow=True)
        query = timed.start()
        started.set()
        return query

    @property
    def files(self) -> list[list[list[str]]]:
        return [[[file.name for file in one] for one in self.batches[number]] for number in sorted(self.batches)]


def test_a_query_finds_new_files_whatever_they_are_called(spark, tmp_path) -> None:
    names = ["a b", "50%", "c[1]{2}", "é😀", "x#y?z", "t:1"]
    stream = declared(
        SIMPLE,
        j={"format": "json", "path": "j [x]", "options": {"max_files_per_batch": 4}},
        g={"format": "csv", "path": "g/*/day-?.csv"},
        f={"format": "json", "path": "one.json"},
    )
    for moment, name in enumerate(names):
        file = written(tmp_path / "j [x]" / name, b"{}")
        os.utime(file, (10**9 - moment, 10**9 - moment))
    written(tmp_path / "j [x]" / ".hidden", b"{}")
    written(tmp_path / "g/a/day-1.csv", b"v\n1\n")
    written(tmp_path / "one.json", b"{}")
    watch = Watch(
        spark,
        [reader(stream, "s", origin, Folders(tmp_path, tmp_path, tmp_path / "state")) for origin in stream.origins],
        tmp_path,
    )
    watch.run().awaitTermination()
    ordered = list(reversed(names))
    assert watch.files == [[ordered[:4], ["day-1.csv"], ["one.json"]], [ordered[4:], [], []]]
    assert all(file.exists() for batch in watch.batches.values() for files in batch for file in files)
    written(tmp_path / "g/b/day-2.csv", b"v\n1\n")
    written(tmp_path / "g/b/other.csv", b"v\n1\n")
    watch.fails_at = 2
    with pytest.raises(Exception, match="told to"):
        watch.run().awaitTermination()
    watch.fails_at = None
    written(tmp_path / "g/b/day-3.csv", b"v\n1\n")
    watch.run().awaitTermination()
    assert watch.files[2:] == [[[], ["day-2.csv"], []], [[], ["day-3.csv"], []]]


def test_a_missing_folder(spark, tmp_path) -> None:
    stream = declared(SIMPLE, j={"format": "json", "path": "not/there"})
    made = reader(stream, "s", "j", Folders(tmp_path, tmp_path, tmp_path / "state"))
    with pytest.raises(InputError, match=r"there is no .*not/there"):
        made.tracked(spark)
    made.tracked(spark, wait=True)
    assert not (tmp_path / "not").exists()


def test_pushed_rows_are_read_once_and_their_files_removed(spark, tmp_path) -> None:
    stream = declared(SIMPLE, p={"format": "push"})
    site = Site(spark, stream, tmp_path)
    inbox = Inbox(site.folder / "inbox" / "s" / "p", SIMPLE)
    watch = Watch(spark, site.readers, tmp_path)
    seen = []
    for turn in range(4):
        inbox.enqueue(simple(3, 10 * turn))
        inbox.enqueue(to_arrow(simple(2, 10 * turn + 5), SIMPLE))
        watch.run().awaitTermination()
        seen += site.read(p=watch.batches[turn][0]).rows["p"]
    assert bag(seen) == bag([row for turn in range(4) for row in (*simple(3, 10 * turn), *simple(2, 10 * turn + 5))])
    assert len(list((site.folder / "sources" / "s" / "p").glob("rows-*"))) <= 4
    assert not list((site.folder / "inbox" / "s" / "p").glob("rows-*"))


def test_generated_rows(spark, tmp_path) -> None:
    options = {"rows": 250, "rows_per_batch": 100, "rows_per_second": 10, "seed": 7, "start": "1970-01-01"}
    stream = declared(
        ALL,
        distinct={"s": 5, "d": 4, "i": 3},
        g={"format": "rate", "options": options},
        h={"format": "rate", "options": options},
    )
    site = Site(spark, stream, tmp_path)
    watch = Watch(spark, site.readers, tmp_path)
    watch.run().awaitTermination()
    assert [len(files) for batch in watch.batches.values() for files in batch] == [1] * 6
    reads = [site.read(g=g, h=h) for g, h in watch.batches.values()]
    assert [read.surveys["g"] for read in reads] == [
        Survey(100, 0, 0, 0, 0, 9_900_000),
        Survey(100, 0, 0, 0, 10_000_000, 19_900_000),
        Survey(50, 0, 0, 0, 20_000_000, 24_900_000),
    ]
    made = [row for read in reads for row in read.rows["g"]]
    assert sorted(row[0] for row in made) == [i * SECOND // 10 for i in range(250)]
    assert {row[ALL.index("s")] for row in made} == {f"s-{i}" for i in range(5)}
    assert {row[ALL.index("d")] for row in made} == {0.0, 0.25, 0.5, 0.75}
    assert {row[ALL.index("i")] for row in made} == {0, 1, 2}
    assert all(None not in row for row in made)
    assert bag(made) != bag(row for read in reads for row in read.rows["h"])
    again = Site(spark, stream, tmp_path).read(g=[file for batch in watch.batches.values() for file in batch[0]])
    assert bag(again.rows["g"]) == bag(made)
    # All of it has been said once; nothing is due any more.
    watch.run().awaitTermination()
    assert len(watch.batches) == 3


def test_rows_come_for_ever_at_their_rate(spark, tmp_path) -> None:
    stream = declared(SIMPLE, g={"format": "rate", "options": {"rows_per_second": 500}})
    site = Site(spark, stream, tmp_path)
    with pytest.raises(InputError, match="never ends"):
        site.readers[0].tracked(spark)
    watch = Watch(spark, site.readers, tmp_path)
    query = watch.run(wait=True, interval="200 milliseconds")
    deadline = threading.Event()
    while len(watch.batches) < 3:
        assert query.exception() is None
        deadline.wait(0.1)
    site.readers[0].close()
    query.stop()
    files = [file for number in sorted(watch.batches) for file in watch.batches[number][0]]
    read = site.read(g=files)
    assert read.surveys["g"].rows == int(files[-1].name.split("-")[2])
    assert [v for _, _, v in read.rows["g"]] != sorted(v for _, _, v in read.rows["g"])
    issued = len(list((site.folder / "sources").rglob("rows-*")))
    deadline.wait(0.5)
    assert len(list((site.folder / "sources").rglob("rows-*"))) == issued

"""Nothing of anybody else's is removed or written over, and no stream reads its own answers; nothing has to start for
that to be seen.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import tradewind as tw
from tests.spark.conftest import spark
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError
from tradewind.runtime.afresh import start_afresh
from tradewind.runtime.deployment import Deployment
from tradewind.runtime.identity import claim
from tradewind.runtime.places import refuse_clashes, sink_of
from tradewind.runtime.secrets import tables_of
from tradewind.spark.query import Report
from tradewind.spark.sinks import Files
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.tables.store import Tables

__all__ = ["spark"]

FILE = """
sites: {{a: {{cores: 1}}, b: {{cores: 1}}}}
links: [{{between: [a, b], mbps: 50, ms: 1, usd_per_gb: 0.02}}]
streams:
  s: {{schema: "ts TIMESTAMP, k STRING", time: ts, at: {{a: {{format: csv, path: {read}}}}}}}
queries:
  one: {{sql: "SELECT ts, k FROM s", deliver: {{site: a, format: json, path: {one}}}}}
  two: {{sql: "SELECT ts, k FROM s WHERE k > 'a'", deliver: {{site: b, format: json, path: {two}}}}}
"""


def deployed(folder: Path, read: str = "in", one: str = "out/one", two: str = "out/two") -> Deployment:
    file = folder / "d.yaml"
    file.write_text(FILE.format(read=read, one=one, two=two))
    (folder / "in").mkdir(exist_ok=True)
    (folder / "in" / "x.csv").write_text("ts,k\n2026-01-01T00:00:00Z,a\n")
    return tw.deployment(file)


def test_answers_of_two_sites_that_would_lie_in_one_folder_here_are_refused(tmp_path) -> None:
    found = deployed(tmp_path, one="out", two="out")
    with pytest.raises(InputError, match=r"'one' and 'two' are both delivered to .*/out"):
        found.run(state=tmp_path / "state")
    # On machines of their own they are apart.
    refuse_clashes(found, tmp_path, "a")
    refuse_clashes(found, tmp_path, "b")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(InputError, match="both delivered"):
        deployed(tmp_path, one="out", two="link").run(state=tmp_path / "state")
    with pytest.raises(InputError, match="both delivered"):
        deployed(tmp_path, one="out", two=str(tmp_path / "out")).run(state=tmp_path / "state")


@pytest.mark.parametrize(("read", "two"), [("in", "in"), ("in", "in/answers"), ("in/*.csv", "in")])
def test_a_stream_does_not_read_its_own_answers(tmp_path, read, two) -> None:
    with pytest.raises(InputError, match="would read its own answers"):
        deployed(tmp_path, read, two=two).run(state=tmp_path / "state", fresh=True)
    assert (tmp_path / "in" / "x.csv").exists()


def test_one_file_beside_which_answers_are_written_is_no_matter(tmp_path) -> None:
    refuse_clashes(deployed(tmp_path, "in/x.csv", two="in"), tmp_path)


def test_a_folder_that_is_no_state_is_not_removed(tmp_path) -> None:
    found, precious = deployed(tmp_path), tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("hello")
    with pytest.raises(InputError, match=r"no state of a run, and holds other things: thesis\.txt"):
        found.run(state=precious, fresh=True)
    assert (precious / "thesis.txt").read_text() == "hello"
    for name in ("of_a_run", "hardly_begun", "empty", "none"):
        state = tmp_path / name
        if name != "none":
            state.mkdir()
        if name == "of_a_run":
            claim(state, {"queries": {}})
        if name == "hardly_begun":
            (state / "measured.json").write_text("{}")
        start_afresh(found, state, {})
        assert not state.exists()


def test_only_files_that_a_batch_was_written_to_are_removed(tmp_path) -> None:
    found = deployed(tmp_path)
    sink, folder = sink_of("one", found.queries["one"], tmp_path, None, pulled=False), tmp_path / "out" / "one"
    folder.mkdir(parents=True)
    ours = ["batch-00000000-0.json", "batch-00000012-end-1.json", "batch-123456789-0.json"]
    others = ["batch-1.csv", "batch-report.json", "batch-00000001.json", "notes.txt"]
    for name in (*ours, *others):
        (folder / name).write_text("{}")
    start_afresh(found, tmp_path / "state", {"one": sink})
    assert sorted(one.name for one in folder.iterdir()) == sorted(others)


def test_a_changed_column_is_shown_where_it_changed_once_for_all_queries(tmp_path) -> None:
    columns = "ts TIMESTAMP, order_id STRING, product STRING, quantity INT, price DECIMAL(10, 2)"

    def state(schema: str) -> dict[str, Any]:
        sources = {name: {"nodes": [{"kind": "source", "columns": schema}]} for name in ("one", "two")}
        return {"queries": sources, "horizon": None}

    claim(tmp_path / "state", state(columns))
    told = r"queries 'one', 'two' changed in the source: columns was \S* ?\S* ?INT.*, is .*BIGINT"
    with pytest.raises(InputError, match=told):
        claim(tmp_path / "state", state(columns.replace("INT", "BIGINT")))


KEPT = """
sites: {{a: {{cores: 1, tables: "sqlite:///{tables}"}}}}
streams:
  s: {{schema: "ts TIMESTAMP, k STRING", time: ts, on_bad: dead_letter, at: {{a: {{format: csv, path: "{read}",
    options: {{max_files_per_batch: 1}}}}}}}}
tables: {{seen: {{schema: "k STRING, n BIGINT", key: k}}}}
flow:
  kept: {{box: update, in: s, table: seen, sql: "INSERT INTO seen (k, n) VALUES (:k, 1)", report: [ts, k]}}
queries:
  one: {{sql: "SELECT ts, k FROM s", deliver: {{site: a, format: json, path: {one}}}}}
  two: {{from: kept, deliver: {{site: a, format: json, path: out/two}}}}
"""


def keeping(folder: Path, *, read: str = "in", one: str = "out/one", tables: str | None = None) -> Deployment:
    """A deployment beside a state folder that holds a secret, and a link to it."""
    file, state = folder / "d.yaml", folder / "state"
    file.write_text(KEPT.format(read=read, one=one, tables=tables or folder / "db" / "tables.db"))
    for name in ("in", "state/identity"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "in" / "x.csv").write_text("ts,k\n2026-01-01T00:00:00Z,a\n")
    (state / "run.json").unlink(missing_ok=True)
    (state / "identity" / "key.csv").write_text("ts,k\n2026-01-01T00:00:00Z,secret\n")
    link = folder / "link"
    if not link.is_symlink():
        link.symlink_to(state)
    return tw.deployment(file)


@pytest.mark.parametrize("path", ["state/identity", "link/identity", "link/identity/key.csv", ".tradewind/x"])
@pytest.mark.parametrize("what", ["read", "one"])
def test_nothing_is_read_from_or_written_to_what_a_run_keeps(tmp_path, what, path) -> None:
    with pytest.raises(InputError, match="keeps for itself"):
        keeping(tmp_path, **{what: path}).run(state=tmp_path / "state")


@pytest.mark.parametrize("pattern", ["state/*/*.csv", "link/*/*", "{in,state/identity}/*", "s*/identity/*.csv"])
def test_no_pattern_reads_what_a_run_keeps(tmp_path, pattern) -> None:
    with pytest.raises(InputError, match="keeps for itself"):
        keeping(tmp_path, read=pattern).run(state=tmp_path / "state")


@pytest.mark.parametrize("place", ["state/x.db", "link/x.db", ".tradewind/x.db"])
def test_no_table_lies_in_what_a_run_keeps(tmp_path, place) -> None:
    found = keeping(tmp_path, tables=str(tmp_path / place))
    with pytest.raises(InputError, match=r"sites\.a\.tables: .* keeps for itself"):
        tables_of(found, "a", Bounds(tmp_path, (tmp_path / "state",)))


def test_a_table_whose_folder_leads_elsewhere_later_is_not_written_to(tmp_path) -> None:
    found = keeping(tmp_path)
    boxes = [node for node in found.graph() if isinstance(node, Read | Update)]
    tables = Tables(tables_of(found, "a", Bounds(tmp_path, (tmp_path / "state",)))["tables_at"], boxes)
    try:
        assert tables.advance(0, {}, None) == {}
        (tmp_path / "db").rename(tmp_path / "elsewhere")
        (tmp_path / "db").symlink_to(tmp_path / "state")
        with pytest.raises(InputError, match=r"sites\.a\.tables: .* keeps for itself"):
            tables.advance(1, {}, None)
        with pytest.raises(InputError, match="keeps for itself"), tables.supposing():
            pass
    finally:
        tables.close()


def test_a_delivery_that_leads_elsewhere_later_is_not_written_to(tmp_path) -> None:
    found, bounds = keeping(tmp_path), Bounds(tmp_path, (tmp_path / "state",))
    sink = sink_of("one", found.queries["one"], tmp_path, None, pulled=False, bounds=bounds)
    assert isinstance(sink, Files)
    sink.prepare()
    (tmp_path / "out" / "one").rmdir()
    (tmp_path / "out" / "one").symlink_to(tmp_path / "state" / "identity")
    for act in (sink.prepare, sink.clear, lambda: sink.publish({"label": "batch-00000000", "files": []})):
        with pytest.raises(InputError, match=r"queries\.one\.deliver: 'out/one' lies in a folder that Tradewind keeps"):
            act()
    # Also where only the folder is a link that a batch is staged in.
    (tmp_path / "out" / "one").unlink()
    sink.prepare()
    (tmp_path / "out" / "one" / "_staging").symlink_to(tmp_path / "state")
    with pytest.raises(InputError, match="keeps for itself"):
        sink.publish({"label": "batch-00000000", "files": []})


@pytest.mark.spark
def test_links_that_come_while_it_runs_lead_nowhere(tmp_path, spark) -> None:
    found, state = keeping(tmp_path), tmp_path / "state"
    link, out = tmp_path / "in" / "y.csv", tmp_path / "out" / "one"
    (tmp_path / "in" / "z.csv").write_text("ts,k\n2026-01-01T00:00:01Z,b\n")
    link.symlink_to(state / "identity" / "key.csv")
    for second, file in enumerate([tmp_path / "in" / "x.csv", link, tmp_path / "in" / "z.csv"], 1):
        os.utime(file, (second, second))

    def on_batch(report: Report) -> None:
        if report.batch == 0:
            out.rename(tmp_path / "moved")
            out.symlink_to(state / "identity")

    with found.run(state=state, spark=spark, on_batch=on_batch) as live:
        with pytest.raises(InputError, match=r"queries\.one\.deliver: 'out/one' lies in a folder that Tradewind keeps"):
            live.wait()
        assert live.read()["s", "a"].bad == 1
    [letter] = [json.loads(line) for file in state.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert (letter["file"], letter["reason"]) == (str(link), "it lies in a folder that Tradewind keeps for itself")
    assert [file.name for file in (state / "identity").iterdir()] == ["key.csv"]
    assert "secret" not in "".join(file.read_text() for file in (tmp_path / "moved").rglob("*.json"))

"""Nothing of anybody else's is removed or written over, and no stream reads its own answers; nothing has to start for
that to be seen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tradewind as tw
from tradewind.errors import InputError
from tradewind.runtime.afresh import start_afresh
from tradewind.runtime.deployment import Deployment
from tradewind.runtime.identity import claim
from tradewind.runtime.places import refuse_clashes, sink_of

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

"""`tradewind results`: the same of a file here and of a cluster, over HTTPS and a site's line, without any Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.backbone.servers import eventually
from tests.cluster.lines import Agent, at_work
from tradewind.cli.main import app as command_line
from tradewind.errors import InputError, UnknownNameError
from tradewind.runtime.cluster.client import Contact
from tradewind.runtime.cluster.coordinator import Coordinator, Office
from tradewind.runtime.cluster.site_run import Place, SiteRun
from tradewind.web.app import app
from tradewind.web.serving import Served

FILE = """
sites: {hq: {cores: 1}}
streams:
  sales:
    schema: ts TIMESTAMP, item STRING, n INT, price DECIMAL(9, 2), share DOUBLE
    time: ts
    at: {hq: {format: json, path: data, rows_per_second: 1, row_bytes: 9}}
queries:
  sold: {sql: SELECT * FROM sales, deliver: {site: hq, format: json, path: out/sold}}
"""
SECRET = "a-secret-that-is-long-enough-for-a-test"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A folder with a deployment that runs on a cluster, and answers that its site has delivered there."""
    root = tmp_path_factory.mktemp("root")
    (root / "data").mkdir()
    (root / "shop.yaml").write_text(FILE)
    leading = Coordinator(Office(root / "coordinator", ("127.0.0.1", 0), root=root))
    leading.start()
    own = leading.members.own
    served = Served.start(app(leading, SECRET, {"127.0.0.1"}), "127.0.0.1", 0, own.certificate, own.key)
    contact = {"url": f"https://127.0.0.1:{served.port}", "secret": SECRET, "ca": leading.ca()}
    (root / "client.json").write_text(json.dumps(contact))
    leading.apply(FILE, "shop.yaml")
    run = SiteRun(
        Place("hq", root, root / "state"), leading._running(), "", repr, lambda: pytest.fail("no Spark"),
        lambda *_: None, lambda: 0.0,
    )  # fmt: skip
    (root / "out" / "sold").mkdir(parents=True)
    rows = [
        {"ts": f"2026-01-01T00:00:{n:02}Z", "item": None if n == 3 else f"item {n}", "n": n * 1000, "price": f"{n}.50",
         "share": n / 7, "_final": n < 60, "_weight": 1}
        for n in range(60)
    ]  # fmt: skip
    (root / "out" / "sold" / "batch-00000000-0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with at_work(leading, "hq", root / "agent", run.asked) as agent:
        eventually("the site reports", lambda: reported(agent, leading))
        yield root
    served.stop()
    leading.stop_leading()


def reported(agent: Agent, leading: Coordinator) -> bool:
    agent.look()
    return bool(leading.registry.heard)


def said(*words: str) -> str:
    done = CliRunner().invoke(command_line, ["results", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def test_a_cluster_gives_what_its_files_hold(cluster: Path, monkeypatch: pytest.MonkeyPatch):
    file, here = str(cluster / "shop.yaml"), ["--at", str(cluster)]
    assert Contact.load(cluster).secret == SECRET
    rows = json.loads(said("sold", "--json", *here))
    assert len(rows) == 60
    assert rows == json.loads(said(file, "sold", "--json"))
    # All rows: the tables are the same, to the last sign.
    assert said("sold", "--limit", "100", *here) == said(file, "sold", "--limit", "100")
    # What is cut are the oldest rows, wherever they are asked for.
    for words in (["sold", *here], [file, "sold"]):
        few = said(*words, "--limit", "2")
        assert "item 59" in few
        assert "item 57" not in few
        assert "showing the newest 2 of 60 rows" in few
        assert "item 9" not in said(*words)
        assert "item 9" in said(*words, "--all")
        oldest = said(*words, "--limit", "2", "--oldest")
        assert "item 1" in oldest
        assert "item 2" not in oldest
        assert "showing the oldest 2 of 60 rows" in oldest
        assert json.loads(said(*words, "--json", "--limit", "7")) == rows[-7:]
    monkeypatch.setenv("TRADEWIND_AT", str(cluster))
    assert json.loads(said("sold", "--json")) == rows


def test_rows_that_are_left_out_of_a_list_are_counted_aside(cluster: Path):
    words = [str(cluster / "shop.yaml"), "sold", "--json", "--limit", "58"]
    done = CliRunner().invoke(command_line, ["results", *words], catch_exceptions=False)
    assert len(json.loads(done.stdout)) == 58
    assert "showing the newest 58 of 60 rows; 2 are left out." in done.stderr


def test_what_cannot_be_answered_is_said(cluster: Path):
    for words, kind, what in (
        (["unsold", "--at", str(cluster)], UnknownNameError, "unsold"),
        (["not a name", "--at", str(cluster)], InputError, "pattern"),
        (["one", "two", "three"], InputError, "a query is wanted"),
        (["sold", "--all", "--limit", "3"], InputError, "two wishes"),
    ):
        with pytest.raises(kind, match=what):
            CliRunner().invoke(command_line, ["results", *words], catch_exceptions=False)

"""A query that is not as fresh as its file asks for is late, and its cause is named."""

from __future__ import annotations

import pytest

import tradewind as tw
from tradewind.cli.status import told
from tradewind.fragments.cut import cut
from tradewind.placement.planners import choose
from tradewind.placement.report import Report
from tradewind.runtime.cluster.freshness import with_freshness

FILE = """
sites: {ams: {}, hq: {}}
links: [{between: [ams, hq], mbps: 10, ms: 1, usd_per_gb: 0.01}]
streams:
  s:
    schema: ts TIMESTAMP, v BIGINT
    time: ts
    late_by: 5 seconds
    at: {ams: {format: rate, rows_per_second: 5, row_bytes: 9}}
queries:
  wish: {sql: "SELECT ts, v FROM s", fresh_within: 10 seconds, deliver: {site: hq, format: parquet, path: out/a}}
  none: {sql: "SELECT v FROM s", deliver: {site: hq, format: parquet, path: out/b}}
"""


@pytest.fixture
def judged(tmp_path):
    (tmp_path / "d.yaml").write_text(FILE)
    found = tw.deployment(tmp_path / "d.yaml")
    report = Report(choose(found, "exact"))
    deployed = cut(report.plan, report.network, report.contents)
    working = {"state": "running", "seconds": 2.5, "rows_per_second": 5.0}
    fragments = {site: {one.name: working for one in deployed.fragments if one.site == site} for site in ("ams", "hq")}

    def status(behind: float | None, *, state="alive", missing=(), backlog=0, work="running"):
        link = {
            "from": "ams", "to": "hq", "backlog_bytes": backlog, "measured_bytes_per_second": 70.0, "reached": True,
            "bytes": 1, "predicted_bytes": 1, "shipped_bytes": 1, "rows": 1, "usd": 0.0,
        }  # fmt: skip
        query = {"site": "hq", "final": 3, "tentative": 0, "missing": list(missing), "behind_seconds": behind}
        sites = {"ams": state, "hq": "alive"}
        return with_freshness(
            {
                "deployment": "d", "epoch": 1, "state": work, "links": [link], "splits": [], "warnings": [],
                "queries": {"wish": query, "none": query},
                "sites": {
                    site: {"state": is_, "fragments": fragments[site], "problem": None} for site, is_ in sites.items()
                },
            },
            found,
            deployed,
        )  # fmt: skip

    return status


@pytest.mark.parametrize(
    ("given", "state", "cause"),
    [
        ({"behind": None}, "running", None),
        ({"behind": 14.9}, "running", None),  # ten seconds, and five for late rows
        ({"behind": 15.1, "state": "gone"}, "late", "site ams is gone"),
        ({"behind": 15.1, "missing": ["s/ams"], "backlog": 9}, "late", "waits for s/ams"),
        ({"behind": 15.1, "backlog": 4096}, "late", "4,096 bytes wait before link ams → hq"),
        ({"behind": 96.0}, "late", "take 2.5 s"),
        ({"behind": 96.0, "work": "ended"}, "running", None),
    ],
)
def test_a_query_is_late_when_it_misses_its_wish(judged, given, state, cause) -> None:
    status = judged(**given)
    query = status["queries"]["wish"]
    assert (query["state"], query["fresh_within_seconds"]) == (state, 10.0)
    assert (query["cause"] is None) == (cause is None)
    assert cause is None or query["cause"].endswith(cause)
    assert status["queries"]["none"]["state"] == "running"
    text = "\n".join(told(status))
    assert ("is late: " in text) == (cause is not None)
    assert "70 B/s now" in text

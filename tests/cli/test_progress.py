"""Lines about a run: each says when, and none is repeated while nothing happens."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

import tradewind as tw
from tradewind.algebra.idleness import OriginStatus
from tradewind.cli.progress import Progress

FILE = """
sites: {ams: {}, hq: {}}
links: [{between: [ams, hq], mbps: 10, ms: 1}]
streams:
  s: {schema: "ts TIMESTAMP, v BIGINT", time: ts, at: {ams: {format: rate, rows_per_second: 5}}}
queries:
  q: {sql: "SELECT ts, v FROM s", deliver: {site: hq, format: parquet, path: out}}
"""


def test_lines_say_when_and_are_not_repeated(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "d.yaml").write_text(FILE)
    seconds = itertools.count(0.0, 2.0)  # each look is two seconds after the one before
    monkeypatch.setattr("tradewind.cli.progress.time.perf_counter", seconds.__next__)
    told = Progress(False, tw.deployment(tmp_path / "d.yaml"))
    live: Any = SimpleNamespace(planned=object(), links=dict, totals={}, missing=dict, waits=dict, origins=dict)
    for _ in range(40):
        told.say_links(live)
    told.origins["s", "ams"] = {"rows": 70}
    told.say_links(live)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].endswith(" 0 rows read (0/s), 0 bytes over links; ")
    assert "70 rows read" in lines[-1]
    assert 3 <= len(lines) <= 8
    assert [line[:8] for line in lines] == sorted(line[:8] for line in lines)
    assert lines[0][:6] == "00:00:"


def test_lines_say_whom_answers_wait_for_and_who_is_idle(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "d.yaml").write_text(FILE)
    now = [100.0]
    monkeypatch.setattr("tradewind.cli.progress.time.perf_counter", lambda: now[0])
    told = Progress(False, tw.deployment(tmp_path / "d.yaml"))
    idle = {("s", "eu"): OriginStatus(5.0, idle=True, silent=9.0)}
    many: Any = SimpleNamespace(
        planned=object(), links=dict, totals={}, missing=lambda: {"q": ("s/ams",)}, origins=dict,
        waits=lambda: {"q": {"s/ams": now[0] - 112.0}, "r": {"s/us": 1.0}},
    )  # fmt: skip
    for now[0] in (120.0, 122.5, 125.0, 127.5):
        told.say_links(many)
    one: Any = SimpleNamespace(
        planned=None, waits=lambda: {"q": {"s/ams": now[0] - 112.0}}, origins=lambda: idle, deviations=list
    )  # fmt: skip
    for now[0] in (130.0, 132.0):
        told.look(one, ())
    one.waits, one.origins = dict, dict
    told.look(one, ())
    assert capsys.readouterr().err.splitlines() == [
        "00:00:20 0 rows read (0/s), 0 bytes over links; ; waits for: s/ams since 00:00:12",
        "00:00:30 idle: s/eu; waits for: s/ams since 00:00:12",
        "00:00:32 nobody is waited for",
    ]

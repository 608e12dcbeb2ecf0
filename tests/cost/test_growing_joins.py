"""Which joins keep rows for ever, how fast their state grows, and what `check` says of them."""

import json
from pathlib import Path

import pytest
import typer

import tradewind as tw
from tradewind.cli.check import check
from tradewind.cli.run import run
from tradewind.cost.growing_joins import growing_joins
from tradewind.errors import DeploymentError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.coordinator import Coordinator, Office

JOIN = "SELECT t.ts, t.ticker FROM trades t {how} JOIN quotes q ON t.ticker = q.ticker {bound}"
COUNTS = "(SELECT ticker, window, count(*) AS n FROM {0} GROUP BY ticker, window(ts, '1 minute'))"
HOUR = "AND q.ts BETWEEN t.ts AND t.ts + INTERVAL 1 HOUR"
BOUNDED = {
    "band": JOIN.format(how="", bound=HOUR),
    "equal times": JOIN.format(how="", bound="AND t.ts = q.ts"),
    "outer band": JOIN.format(how="LEFT", bound=HOUR),
    "windows": f"SELECT a.ticker, a.n FROM {COUNTS.format('trades')} a JOIN {COUNTS.format('quotes')} b "
    "ON a.ticker = b.ticker AND a.window = b.window",
}


def declared(sql: str = "", *, rate: str = "{}", site: str = "{cores: 2}", query: str | None = None) -> str:
    question = query or f"sql: {json.dumps(sql)}"
    return (
        f"sites: {{desk: {site}, attic: {{cores: 1, memory: 512m}}}}\n"
        "links: [{between: [desk, attic], mbps: 10, usd_per_gb: 0.01}]\n"
        "tables: {limits: {schema: 'ticker STRING, most DOUBLE', key: [ticker]}}\n"
        "streams:\n"
        f"  trades: {{schema: 'ts TIMESTAMP, ticker STRING, price DOUBLE', time: ts, late_by: 5 seconds, "
        f"at: {{desk: {rate}}}}}\n"
        f"  quotes: {{schema: 'ts TIMESTAMP, ticker STRING, bid DOUBLE', time: ts, at: {{desk: {rate}}}}}\n"
        "  loose: {schema: 'ticker STRING, bid DOUBLE', at: {desk: {}}}\n"
        "queries:\n"
        f"  q: {{{question}, deliver: {{site: desk}}}}\n"
    )


@pytest.mark.parametrize("sql", BOUNDED.values(), ids=BOUNDED)
def test_joins_that_time_bounds_do_not_grow(sql: str) -> None:
    assert growing_joins(load(declared(sql, rate="{rows_per_second: 1000000}"))) == []


def test_a_bound_in_where_is_asked_of_pairs_and_bounds_nothing() -> None:
    sql = JOIN.format(how="", bound=HOUR.replace("AND", "WHERE", 1))
    (one,) = growing_joins(load(declared(sql)))
    assert "in the join's ON, not in WHERE" in one.hint


def test_reading_a_stored_table_does_not_grow() -> None:
    query = (
        "flow: {known: {box: read, in: trades, table: limits, sql: 'SELECT most FROM limits WHERE ticker = :ticker'}}"
    )
    assert growing_joins(load(declared(query=query, rate="{rows_per_second: 1000000}"))) == []


@pytest.mark.parametrize(
    ("how", "bound", "sides"),
    [("", "", 2), ("", "AND q.ts >= t.ts", 1), ("", "AND q.ts <= t.ts", 1), ("LEFT", "AND q.ts >= t.ts", 2)],
)
def test_the_state_grows_by_the_sides_that_nothing_bounds(how: str, bound: str, sides: int) -> None:
    (whole,) = growing_joins(load(declared(JOIN.format(how="", bound=""), rate="{rows_per_second: 1}")))
    (one,) = growing_joins(load(declared(JOIN.format(how=how, bound=bound), rate="{rows_per_second: 1}")))
    assert whole.bytes_per_second is not None
    assert one.bytes_per_second == pytest.approx(whole.bytes_per_second * sides / 2)


def test_a_join_in_a_box_of_a_flow_is_found() -> None:
    query = "flow: {both: {box: join, in: [trades, quotes], on: [ticker]}}"
    (one,) = growing_joins(load(declared(query=query)))
    assert one.bytes_per_second is None
    assert "within: 1 hour" in one.hint
    bounded = "flow: {both: {box: join, in: [trades, quotes], on: [ticker], within: 1 hour}}"
    assert growing_joins(load(declared(query=bounded))) == []


def test_the_hint_holds() -> None:
    """The condition that the hint names makes the join bounded."""
    (one,) = growing_joins(load(declared(JOIN.format(how="", bound=""))))
    condition = one.hint.partition("in SQL, ")[2].partition(" in the join's ON")[0]
    assert condition.startswith("AND quotes.ts BETWEEN trades.ts")
    sql = JOIN.format(how="", bound=condition.replace("quotes.", "q.").replace("trades.", "t."))
    assert growing_joins(load(declared(sql))) == []


def test_a_side_without_a_time_gets_another_hint() -> None:
    sql = "SELECT t.ts, t.ticker FROM trades t JOIN loose q ON t.ticker = q.ticker"
    (one,) = growing_joins(load(declared(sql)))
    assert "the right side has no column that tells its time" in one.hint


def test_rows_that_are_taken_back_do_not_count() -> None:
    sql = (
        "SELECT a.ticker, a.n, b.m FROM (SELECT ticker, count(*) AS n FROM trades GROUP BY ticker) a "
        "JOIN (SELECT ticker, count(*) AS m FROM quotes GROUP BY ticker) b ON a.ticker = b.ticker"
    )
    (one,) = growing_joins(load(declared(sql, rate="{rows_per_second: 1000000}")))
    assert one.bytes_per_second is None
    assert not one.fills_up


def test_check_warns_and_exits_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "slow.yaml"
    file.write_text(declared(JOIN.format(how="", bound=""), rate="{rows_per_second: 1}"), encoding="utf-8")
    check(file)
    said = capsys.readouterr()
    assert ", 1 warning." in said.out
    assert said.err.startswith(
        f"warning: {file}:9:3 queries.q: the state of 'join on ticker = ticker_q' grows for ever"
    )
    assert "INTERVAL 1 HOUR" in said.err
    check(file, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["ok"]
    assert data["problems"] == []
    assert [(one["line"], one["column"]) for one in data["warnings"]] == [(9, 3)]


def test_check_refuses_what_fills_memory_within_a_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = JOIN.format(how="", bound="")
    file = tmp_path / "fast.yaml"
    file.write_text(declared(sql, rate="{rows_per_second: 1000}"), encoding="utf-8")
    with pytest.raises(DeploymentError) as caught:
        check(file)
    (problem,) = caught.value.problems
    assert "fills the 1,024 MB of memory of desk in" in problem.what
    assert (problem.line, problem.column) == (9, 3)
    with pytest.raises(typer.Exit) as left:
        check(file, as_json=True)
    assert left.value.exit_code == 2
    assert json.loads(capsys.readouterr().out)["ok"] is False
    # More memory, on one worker or on several, holds it for longer.
    for site in ("{cores: 2, memory: 64g}", "{cores: 64, workers: 32, memory: 2g}"):
        file.write_text(declared(sql, rate="{rows_per_second: 1000}", site=site), encoding="utf-8")
        check(file)
    assert capsys.readouterr().err.count("warning: ") == 2


FAST = declared(JOIN.format(how="", bound=""), rate="{rows_per_second: 1000}")


def test_no_way_to_run_it_takes_what_fills_memory_within_a_day(tmp_path: Path) -> None:
    """The same problem, with its place, as `check` finds: by `run` and in Python, before anything is started."""
    file = tmp_path / "fast.yaml"
    file.write_text(FAST, encoding="utf-8")
    with pytest.raises(DeploymentError) as checked:
        check(file)
    with pytest.raises(DeploymentError) as ran:
        run(file)
    assert ran.value.problems == checked.value.problems
    assert list(tmp_path.iterdir()) == [file]
    # Queries that are asked in Python stand in no file.
    file.write_text(FAST.partition("queries:")[0], encoding="utf-8")
    found = tw.deployment(file)
    asked = found.sql(JOIN.format(how="", bound="")).deliver("desk")
    with pytest.raises(DeploymentError) as called:
        found.run({"mine": asked}, state=tmp_path / "state")
    (problem,) = called.value.problems
    assert problem.where == f"{file} queries.mine"
    assert problem.what == checked.value.problems[0].what


def test_a_coordinator_refuses_what_fills_memory_within_a_day(tmp_path: Path) -> None:
    leading = Coordinator(Office(tmp_path / "coordinator", ("127.0.0.1", 0), root=tmp_path))
    leading.start()
    try:
        (told,) = leading.check(FAST, "fast.yaml")
        assert told["where"].startswith("fast.yaml:9:3 queries.q")
        for asked in (leading.apply, leading.difference):
            with pytest.raises(DeploymentError) as refused:
                asked(FAST, "fast.yaml")
            assert refused.value.problems[0].what == told["what"]
        assert leading.desired.wanted is None
    finally:
        leading.stop_leading()


def test_a_pinned_join_has_the_memory_of_its_site() -> None:
    text = declared(JOIN.format(how="", bound=""), rate="{rows_per_second: 1}")
    (one,) = growing_joins(load(text.replace("deliver:", "pin: {join: attic}, deliver:")))
    assert (one.site, one.memory) == ("attic", 512 * 2**20)


@pytest.mark.parametrize("memory", ["0g", "1", "1t", "g", "-1g"])
def test_memory_that_is_none_is_refused(memory: str) -> None:
    with pytest.raises(DeploymentError, match="is no amount of memory"):
        load(declared(BOUNDED["band"], site=f"{{cores: 2, memory: '{memory}'}}"))

"""Nexmark: the market is as it promises to be, and the interpreter and DuckDB agree on every query."""

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.apps.nexmark_duckdb import ANSWERS, bag, duckdb_answer
from tradewind import deployment
from tradewind.apps.nexmark import LONGEST, SCHEMAS, USUAL, Market, events, rows
from tradewind.apps.nexmark_files import write
from tradewind.errors import InputError
from tradewind.frontends.flow.read import read_graph
from tradewind.frontends.flow.write import write_flow
from tradewind.interpreter.run import Run, answer
from tradewind.rewrites.engine import rewrite

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
QUERIES = sorted(ANSWERS)
LIVELY = Market(events_per_second=4, open_auctions=20, active_people=30, hot_every=5)
"""Slow, so that there are many windows, with auctions that expire while they are bid on."""

MARKETS = {"usual": (USUAL, 2_000), "lively": (LIVELY, 1_000)}
CASES = [
    pytest.param(query, MARKETS[name], seed, id=f"{query}-{name}-{seed}")
    for query in QUERIES
    for name in MARKETS
    for seed in range(3)
]


def asked(query):
    found = deployment(FOLDER / f"{query}.yaml")
    return found, found.graph(query)


def at_market(found, tables):
    """The rows that a deployment's streams have, at its only site."""
    plain = rows({name: tables[name] for name in found.streams})
    return {name: {"market": given} for name, given in plain.items()}


def column(table, name):
    chosen = table[name]
    return (chosen.cast(pa.int64()) if pa.types.is_timestamp(chosen.type) else chosen).to_numpy()


@pytest.mark.parametrize(("query", "market", "seed"), CASES)
def test_the_interpreter_answers_as_duckdb_does(query, market, seed):
    shape, count = market
    tables = events(count, seed, shape)
    found, graph = asked(query)
    expected = duckdb_answer(query, tables)
    assert expected.total() > 0
    assert bag(answer(graph, at_market(found, tables))[query].elements()) == expected


@pytest.mark.parametrize("query", QUERIES)
def test_rules_change_no_answer(query):
    tables = events(600, 7, LIVELY)
    found, graph = asked(query)
    data = at_market(found, tables)
    assert answer(rewrite(graph).graph, data) == answer(graph, data)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_can_be_written_as_boxes(query):
    found, graph = asked(query)
    assert (FOLDER / f"{query}.yaml").read_text(encoding="utf-8").startswith(f"# Nexmark {query}, ")
    assert read_graph(write_flow(graph, found.catalog), found.catalog) == graph


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_reads_the_streams_that_the_generator_makes(query):
    found, _ = asked(query)
    for name, stream in found.streams.items():
        assert stream.source.schema == SCHEMAS[name]
        assert stream.source.late_by >= USUAL.jitter
        assert [origin.path for origin in stream.origins.values()] == [f"data/{name}"]


@pytest.mark.parametrize("query", QUERIES)
def test_in_batches_nothing_is_late_and_nothing_final_is_revised(query):
    tables = events(800, 3, LIVELY)
    found, graph = asked(query)
    data = at_market(found, tables)
    run = Run(graph)
    promised: list[Counter] = []
    for part in range(4):
        run.feed({name: {"market": _part(by_site["market"], part, 4)} for name, by_site in data.items()})
        promised.append(run.final(query))
    assert all(counts == {"market": (0, 0)} for counts in run.late().values())
    run.end()
    whole = run.answer(query)
    assert bag(whole.elements()) == duckdb_answer(query, tables)
    assert all(early <= whole for early in promised)
    # Averages without a window are open until the streams end; all else is settled on the way.
    assert bool(promised[-1]) == (query not in ("q4", "q6"))


def _part(given, number, parts):
    return given[len(given) * number // parts : len(given) * (number + 1) // parts]


def test_there_is_one_person_to_three_auctions_to_forty_six_bids():
    tables = events(5_000, 1)
    assert {name: table.num_rows for name, table in tables.items()} == {"person": 100, "auction": 300, "bid": 4_600}
    for name, table in tables.items():
        assert table.column_names == list(SCHEMAS[name].names)
        assert not any(chosen.null_count for chosen in table.columns)
    for name in ("person", "auction"):
        ids = column(tables[name], "id")
        assert sorted(ids) == list(range(min(ids), max(ids) + 1))


def test_a_market_follows_from_its_seed_and_grows_at_its_end():
    assert events(700, 5) == events(700, 5)
    assert events(700, 5)["bid"] != events(700, 6)["bid"]
    shorter, longer = rows(events(700, 5)), rows(events(3_000, 5))
    for name in SCHEMAS:
        assert set(shorter[name]) < set(longer[name])


def test_events_come_out_of_order_but_less_than_the_jitter():
    for table in events(3_000, 2).values():
        times = column(table, "dateTime")
        behind = np.maximum.accumulate(times) - times
        assert 0 < max(behind) < USUAL.jitter
    ordered = column(events(500, 2, Market(jitter=0))["bid"], "dateTime")
    assert all(np.diff(ordered) >= 0)


def test_some_are_hot():
    tables = events(2_000, 1)
    for stream, who, least in (("bid", "auction", 0.05), ("bid", "bidder", 0.2), ("auction", "seller", 0.2)):
        counts = Counter(column(tables[stream], who).tolist())
        assert counts.most_common(1)[0][1] > least * tables[stream].num_rows
        assert len(counts) > 10


def test_auctions_are_bid_on_before_they_open_while_they_are_open_and_after():
    tables = events(1_000, 1, LIVELY)
    opens = dict(zip(column(tables["auction"], "id"), column(tables["auction"], "dateTime"), strict=True))
    expires = dict(zip(column(tables["auction"], "id"), column(tables["auction"], "expires"), strict=True))
    bids = list(zip(column(tables["bid"], "auction"), column(tables["bid"], "dateTime"), strict=True))
    when = Counter("unknown" if a not in opens else int(t >= opens[a]) + int(t > expires[a]) for a, t in bids)
    assert set(when) == {"unknown", 0, 1, 2}
    slow = events(2_000, 1, Market(events_per_second=1, open_auctions=1_000))["auction"]
    lasts = column(slow, "expires") - column(slow, "dateTime")
    assert 0 < min(lasts) <= max(lasts) <= LONGEST


def test_the_answers_hold_the_cases_that_are_easily_got_wrong():
    tables = events(1_000, 0, LIVELY)
    for query in ("q5", "q7"):  # ties
        assert max(Counter(row[0] for row in duckdb_answer(query, tables)).values()) > 1
    sold = Counter(column(tables["auction"], "seller").tolist())
    assert min(sold.values()) < 10 < max(sold.values())
    repeated = Counter((row[0], row[1]) for row in duckdb_answer("q8", tables).elements())
    assert set(repeated.values()) == {1}


def made(**streams):
    """Tables of a few rows by hand; columns that are not given are 0 or empty."""
    empty = events(1, 0)
    tables = {}
    for name, table in empty.items():
        fields = [(field.name, "" if pa.types.is_string(field.type) else 0) for field in table.schema]
        filled = [{column: row.get(column, default) for column, default in fields} for row in streams.get(name, [])]
        tables[name] = pa.Table.from_pylist(filled, schema=table.schema)
    return tables


def both(query, tables):
    """The answer that the interpreter and DuckDB agree on."""
    found, graph = asked(query)
    rows_found = bag(answer(graph, at_market(found, tables))[query].elements())
    assert rows_found == duckdb_answer(query, tables)
    return rows_found


def test_bids_count_from_the_opening_to_the_expiry_both_included():
    auction = {"id": 1, "dateTime": 10, "expires": 20, "category": 12}
    for time, counts in ((9, False), (10, True), (20, True), (21, False)):
        tables = made(auction=[auction], bid=[{"auction": 1, "price": 7, "dateTime": time}])
        assert both("q4", tables) == (Counter({(12, 7.0): 1}) if counts else Counter())


def test_of_auctions_that_expire_together_the_later_ids_are_the_last_ten():
    auctions = [{"id": n, "seller": 3, "expires": 50} for n in range(1, 13)]
    bids = [{"auction": n, "price": n, "dateTime": 5} for n in range(1, 13)]
    assert both("q6", made(auction=auctions, bid=bids)) == Counter({(3, 7.5): 1})
    assert both("q6", made(auction=auctions[:2], bid=bids)) == Counter({(3, 1.5): 1})


def test_a_bid_on_the_border_belongs_to_the_window_that_begins():
    ten = 10_000_000
    bids = [{"auction": n, "price": 5, "dateTime": time} for n, time in enumerate((0, ten - 1, ten, 2 * ten - 1))]
    found = both("q7", made(bid=bids))
    assert sorted((row[0], row[1]) for row in found) == [(0, 0), (0, 1), (ten, 2), (ten, 3)]


def test_files_hold_the_rows_in_the_order_of_arrival(tmp_path):
    written = write(tmp_path, 1_000, 4, files=3, market=LIVELY)
    for name, table in events(1_000, 4, LIVELY).items():
        assert written[name] == sorted((tmp_path / name).iterdir(), key=lambda path: path.stat().st_mtime)
        parts = [pq.read_table(path) for path in written[name]]
        assert len(parts) == 3
        assert pa.concat_tables(parts) == table
        assert parts[0].schema.field("dateTime").type == pa.timestamp("us", tz="UTC")


def test_files_are_not_mixed_with_those_of_another_market(tmp_path):
    write(tmp_path, 60, 1)
    with pytest.raises(InputError, match="has files already"):
        write(tmp_path, 60, 2, files=2)


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: events(0, 1),
        lambda folder: events(10, -1),
        lambda folder: write(folder, 10, 1, files=0),
        lambda folder: Market(events_per_second=0),
        lambda folder: Market(jitter=-1),
        lambda folder: Market(hot_every=1),
    ],
)
def test_impossible_markets_are_refused(make, tmp_path):
    with pytest.raises(InputError, match=r"not|into 0 files"):
        make(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_single_event_is_a_market():
    assert {name: len(given) for name, given in rows(events(1, 1)).items()} == {"person": 1, "auction": 0, "bid": 0}


def test_rows_are_compared_whatever_engine_spelled_them():
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    micros = 1_767_268_800_000_000
    same = [(micros, 1, Decimal("1.500"), (2, 3)), (moment, np.int64(1), 1.5, {"a": 2, "b": 3})]
    naive = (moment.replace(tzinfo=None), Decimal(1), Decimal("1.5"), [2, 3])
    assert bag([*same, naive]) == Counter({same[0]: 3})
    assert bag([(1,)]) != bag([(1,), (1,)])


def test_the_readme_says_what_each_query_asks():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(QUERIES)
    assert all(f"| [{query}.yaml]({query}.yaml) |" in text for query in QUERIES)

"""What flows out of every kind of operator, against figures worked out by hand."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.every import every_kind
from tests.shorthand import MINUTE, SECOND, grouped, mapped, session, sliding, stream, tumbling, tuples, where
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, ConnectionPoint, Join, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import ValueWindow
from tradewind.cost.declared import Declared, OriginFigures, QueryFigures, StreamFigures
from tradewind.cost.packed import Values, column_bytes, commit_bytes, heads_bytes, part_frame_bytes
from tradewind.cost.statistics import Statistics
from tradewind.errors import InputError

HITS = stream("hits", "ts TIMESTAMP, domain STRING, status INT, bytes BIGINT", origins=("ams", "nyc"))
AMS, NYC = (Source("hits", HITS.columns, 0, (site,)) for site in ("ams", "nyc"))
USERS = stream("users", "seen TIMESTAMP, name STRING, age INT", time="seen", origins=("hq",))
PAGES = stream("pages", "at TIMESTAMP, page STRING, owner STRING", time="at", origins=("hq",))
DECLARED = Declared(
    {
        "hits": StreamFigures(
            {"ams": OriginFigures(100, 40), "nyc": OriginFigures(300, 60)},
            {"domain": 1_000, "status": 10, "bytes": 500},
        ),
        "users": StreamFigures({"hq": OriginFigures(20, 30)}, {"name": 4_000, "age": 80}),
        "pages": StreamFigures({"hq": OriginFigures(5, 50)}, {"page": 200, "owner": 2_000}),
    },
    {
        "plain": QueryFigures(),
        "fresh": QueryFigures(30.0),
        "joined": QueryFigures(None, {("hits", "users"): 0.1, ("pages", "users"): 0.01, ("hits", "pages"): 0.5}),
    },
)
TOP_OF_TABLE = Table("limits", parse_schema("domain STRING, most BIGINT"), ("domain",))


def flow(node: Operator, query: str = "plain", **options):
    return Statistics(DECLARED, query, **options).flow(node)


def uniform(rows: float, values: float) -> float:
    return float(values * (1 - (1 - 1 / values) ** rows))


def split(node: Aggregate, *parts: Operator) -> tuple[tuple[Partial, ...], Merge, Finish]:
    """The aggregate in parts."""
    partials = tuple(Partial(part, node.keys, node.functions, node.window) for part in parts)
    keys = node.keys if node.window is None else (*node.keys, "window")
    merged = Merge(Union(partials), keys, detached(node.functions))
    return partials, merged, Finish(merged, detached(node.functions))


def test_a_source_has_the_declared_rates_and_weights() -> None:
    found = flow(HITS)
    assert found.rows_per_second == 400
    assert found.row_bytes == pytest.approx((100 * 40 + 300 * 60) / 400)
    assert found.bytes_per_second == pytest.approx(22_000)
    assert found.streams == {("hits", "ams"), ("hits", "nyc")}
    assert found.distinct == {"domain": 1_000, "status": 10, "bytes": 500}
    assert flow(AMS).bytes_per_second == pytest.approx(4_000)
    everywhere = Source("hits", HITS.columns)
    assert flow(everywhere) == found


def test_a_filter_keeps_a_share_and_narrows_what_it_asks() -> None:
    found = flow(where(AMS, "status = 200 AND domain LIKE 'a%'"))
    assert found.rows_per_second == pytest.approx(100 / 10 / 10)
    assert found.row_bytes == pytest.approx(40)
    assert found.distinct == pytest.approx({"domain": 100, "status": 1, "bytes": 500})


def test_a_map_weighs_the_share_of_the_columns_that_it_keeps() -> None:
    kept = flow(mapped(AMS, d="domain", s="status"))
    weights = {
        "ts": column_bytes(HITS.schema.type_of("ts")),
        "domain": column_bytes(HITS.schema.type_of("domain"), Values(1_000)),
        "status": column_bytes(HITS.schema.type_of("status"), Values(10)),
        "bytes": column_bytes(HITS.schema.type_of("bytes"), Values(500)),
    }
    share = (weights["domain"] + weights["status"]) / sum(weights.values())
    assert kept.row_bytes == pytest.approx(40 * share)
    assert kept.distinct == {"d": 1_000, "s": 10}
    assert kept.rows_per_second == 100


def test_a_map_knows_how_many_values_expressions_have() -> None:
    found = flow(mapped(AMS, one="1", hour="hour(ts)", both="concat(domain, CAST(status AS STRING))", late="ts"))
    assert found.distinct == {"one": 1, "hour": 24, "both": 10_000}
    assert found.columns["one"].bytes < 0.01


def test_a_union_adds_rows_and_counts_equal_values_once() -> None:
    found = flow(Union((AMS, NYC)))
    assert found.rows_per_second == 400
    assert found.bytes_per_second == pytest.approx(22_000)
    assert found.distinct == {"domain": 1_000, "status": 10, "bytes": 500}


def test_a_union_knows_parts_of_the_same_values_from_the_same_part() -> None:
    alike = Union((where(AMS, "status IN (1, 2)"), where(NYC, "status IN (1, 2)")))
    apart = Union((where(AMS, "status IN (1, 2)"), where(NYC, "status IN (3, 4, 5)")))
    dealt = Union(tuple(where(AMS, f"pmod(xxhash64(domain), 4) = {part}") for part in range(4)))
    assert flow(alike).distinct["status"] == pytest.approx(2)
    assert flow(apart).distinct["status"] == pytest.approx(5)
    assert flow(dealt).distinct["domain"] == pytest.approx(1_000)
    assert flow(dealt).rows_per_second == pytest.approx(100)
    other = Union((mapped(AMS, name="domain"), mapped(USERS, name="name")))
    assert flow(other).distinct["name"] == 5_000


def test_a_join_multiplies_rates_and_declared_selectivities() -> None:
    pair = Join(HITS, USERS, "inner", (("domain", "name"),), Band("ts", "seen", 0, MINUTE))
    three = Join(pair, PAGES, "inner", (("name", "owner"),), Band("seen", "at", 0, MINUTE))
    assert flow(pair, "joined").rows_per_second == pytest.approx(400 * 20 * 0.1)
    assert flow(pair, "joined").row_bytes == pytest.approx(55 + 30)
    assert flow(three, "joined").rows_per_second == pytest.approx(400 * 20 * 5 * 0.1 * 0.01 * 0.5)
    other_order = Join(
        Join(USERS, PAGES, "inner", (("name", "owner"),), Band("seen", "at", 0, MINUTE)),
        HITS, "inner", (("name", "domain"),), Band("seen", "ts", 0, MINUTE),
    )  # fmt: skip
    assert flow(other_order, "joined").rows_per_second == pytest.approx(flow(three, "joined").rows_per_second)
    assert flow(other_order, "joined").row_bytes == pytest.approx(flow(three, "joined").row_bytes)
    assert Statistics(DECLARED).flow(pair).rows_per_second == pytest.approx(800)  # of whichever query


def test_a_join_without_a_declared_selectivity_goes_by_its_keys_and_band() -> None:
    pair = Join(HITS, USERS, "inner", (("domain", "name"),), Band("ts", "seen", 0, MINUTE))
    assert flow(pair).rows_per_second == pytest.approx(400 * 20 * 60 / 4_000)
    assert flow(pair).distinct["name"] == flow(pair).distinct["domain"] == 1_000
    unbound = Join(HITS, USERS, "inner", (("domain", "name"),))
    assert flow(unbound).rows_per_second == pytest.approx(400 * 20 * 3600 / 4_000)
    numbers = Join(HITS, USERS, "inner", (("domain", "name"),), Band("status", "age", 0, 5))
    assert flow(numbers).rows_per_second == pytest.approx(400 * 20 * 3600 / 4_000 / 10)


def test_outer_joins_add_the_rows_without_a_match() -> None:
    band = Band("ts", "seen", 0, MINUTE)
    found = {
        how: flow(Join(HITS, USERS, how, (("domain", "name"),), band)).rows_per_second
        for how in ("inner", "left", "right", "full")
    }
    left, right = 400 * math.exp(-20 * 60 / 4_000), 20 * math.exp(-400 * 60 / 4_000)
    assert found["left"] == pytest.approx(found["inner"] + left)
    assert found["right"] == pytest.approx(found["inner"] + right)
    assert found["full"] == pytest.approx(found["inner"] + left + right)


def test_a_join_of_windows_meets_within_a_window() -> None:
    left = grouped(AMS, "domain", tumbling(MINUTE), n="count(*)")
    right = mapped(grouped(NYC, "domain", tumbling(MINUTE), n="count(*)"), d="domain", w="window", m="n")
    both = Join(left, right, "inner", (("domain", "d"), ("window", "w")))
    rates = [flow(side).rows_per_second for side in (left, right)]
    assert flow(both).rows_per_second == pytest.approx(math.prod(rates) * 60 / 1_000)


def test_a_partial_ships_the_groups_of_each_batch() -> None:
    counted = grouped(AMS, "domain", tumbling(MINUTE), n="count(*)")
    ((partial,), _, _) = split(counted, AMS)
    often, once = flow(partial, flush_seconds=10.0), flow(partial)
    assert often.flush_seconds == 10
    assert often.rows_per_second == pytest.approx(uniform(1_000, 1_000) / 10)
    assert once.flush_seconds == 60
    assert once.rows_per_second == pytest.approx(uniform(6_000, 1_000) / 60)
    assert flow(partial, "fresh").flush_seconds == 10  # 30 seconds / 3
    assert often.lifted_per_second == 100
    columns = sum(column.bytes for column in often.columns.values())
    heads = heads_bytes(1 + 3 + 1, often.rows_per_second * 10, columns)
    beside = (heads + part_frame_bytes() + commit_bytes(1)) / 10
    assert often.bytes_per_second == pytest.approx(often.rows_per_second * columns + beside)


def test_flushes_are_bound_by_a_second_and_the_window() -> None:
    one = Partial(AMS, (), grouped(AMS, n="count(*)").functions)
    short = Partial(AMS, (), one.functions, tumbling(5 * SECOND))
    hasty = Statistics(Declared(DECLARED.streams, {"q": QueryFigures(1.5)}), "q")
    assert flow(one).flush_seconds == 10
    assert flow(short).flush_seconds == 5
    assert flow(short, "fresh").flush_seconds == 5
    assert hasty.flow(one).flush_seconds == 1
    assert flow(one).rows_per_second == pytest.approx(0.1)


def test_sliding_windows_multiply() -> None:
    calls = grouped(AMS, n="count(*)").functions
    plain = Partial(AMS, ("domain",), calls, tumbling(5 * MINUTE))
    slid = Partial(AMS, ("domain",), calls, sliding(5 * MINUTE, MINUTE))
    assert flow(slid, "fresh").rows_per_second == pytest.approx(5 * flow(plain, "fresh").rows_per_second)
    assert flow(slid, "fresh").lifted_per_second == 500
    # A batch as long as the window: one window sees all of it, and on each side four see a part.
    whole = flow(slid).rows_per_second * 300
    parts = uniform(30_000, 1_000) + 2 * sum(uniform(6_000 * part, 1_000) for part in range(1, 5))
    assert whole == pytest.approx(parts, rel=0.02)


def test_merged_groups_are_those_of_the_rows_together() -> None:
    whole = grouped(HITS, "domain", tumbling(MINUTE), n="count(*)", total="sum(bytes)")
    partials, merged, finished = split(whole, AMS, NYC)
    figures = Statistics(DECLARED, "fresh")
    each = [figures.flow(one).rows_per_second for one in partials]
    union, after = figures.flow(merged.input), figures.flow(merged)
    assert union.rows_per_second == pytest.approx(sum(each))
    assert union.beside_per_second == pytest.approx(2 * figures.flow(partials[0]).beside_per_second)
    assert after.rows_per_second == pytest.approx(uniform(4_000, 1_000) / 10)
    assert max(each) < after.rows_per_second < sum(each)
    assert figures.flow(finished).rows_per_second == pytest.approx(after.rows_per_second)
    assert figures.flow(finished).bytes_per_second < after.bytes_per_second
    assert figures.flow(whole).rows_per_second == pytest.approx(after.rows_per_second)
    assert figures.flow(whole).bytes_per_second == pytest.approx(figures.flow(finished).bytes_per_second, rel=0.05)


def test_a_merge_of_merges_is_a_merge_of_all() -> None:
    whole = grouped(HITS, "domain", sliding(5 * MINUTE, MINUTE), n="count(*)")
    partials, merged, _ = split(whole, AMS, NYC)
    nearer = tuple(Merge(one, merged.keys, merged.functions) for one in partials)
    again = Merge(Union(nearer), merged.keys, merged.functions)
    assert flow(again, "fresh").rows_per_second == pytest.approx(flow(merged, "fresh").rows_per_second)
    assert flow(nearer[0], "fresh").rows_per_second == pytest.approx(flow(partials[0], "fresh").rows_per_second)


def test_a_combine_has_the_coarser_groups_of_a_batch() -> None:
    fine = grouped(AMS, "domain status", tumbling(MINUTE), n="count(*)")
    ((partial,), _, _) = split(fine, AMS)
    fewer = Combine(partial, ("status",), detached(fine.functions), sliding(5 * MINUTE, MINUTE))
    assert flow(fewer, "fresh").rows_per_second == pytest.approx(5 * 10 / 10)
    assert flow(fewer, "fresh").lifted_per_second == 500
    straight = Partial(AMS, ("domain",), fine.functions, sliding(5 * MINUTE, MINUTE))
    around = Combine(partial, ("domain",), detached(fine.functions), sliding(5 * MINUTE, MINUTE))
    assert flow(around, "fresh").rows_per_second == pytest.approx(flow(straight, "fresh").rows_per_second)


def test_grouping_by_a_time_cut_to_a_unit_is_a_window() -> None:
    cut = mapped(AMS, minute="date_trunc('MINUTE', ts)", domain="domain")
    plain = grouped(cut, "minute domain", n="count(*)")
    windowed = grouped(AMS, "domain", tumbling(MINUTE), n="count(*)")
    assert flow(plain, flush_seconds=10.0).rows_per_second == pytest.approx(
        flow(windowed, flush_seconds=10.0).rows_per_second
    )
    # Two minutes in a batch: twice the groups of one.
    assert flow(plain, flush_seconds=120.0).rows_per_second == pytest.approx(2 * uniform(6_000, 1_000) / 120)


def test_grouping_twice() -> None:
    minutes = grouped(AMS, "domain status", tumbling(MINUTE), n="count(*)")
    coarse = grouped(minutes, "window status", n="sum(n)")
    assert flow(coarse, flush_seconds=10.0).rows_per_second == pytest.approx(1.0)
    slid = grouped(grouped(AMS, "domain", sliding(4 * MINUTE, MINUTE), n="count(*)"), "window", n="sum(n)")
    assert flow(slid, flush_seconds=10.0).rows_per_second == pytest.approx(0.4)


def test_sessions_counted_and_value_windows() -> None:
    visits = grouped(AMS, "domain", session(10 * MINUTE), n="count(*)")
    assert flow(visits, flush_seconds=10.0).rows_per_second == pytest.approx(uniform(1_000, 1_000) / 10)
    fives = grouped(AMS, "domain", tuples(10, 5), n="count(*)")
    assert flow(fives).rows_per_second == pytest.approx(20)
    assert flow(fives).flush_seconds is None
    bands = grouped(AMS, "", ValueWindow("bytes", 100, 50), n="count(*)")
    assert flow(bands, flush_seconds=10.0).rows_per_second == pytest.approx(uniform(2_000, 500) / 10)


def test_skew_makes_fewer_groups() -> None:
    figures = StreamFigures({"ams": OriginFigures(100, 40)}, {"domain": 1_000}, {"domain": 1.2})
    skewed = Statistics(Declared({"hits": figures}))
    node = grouped(AMS, "domain", n="count(*)")
    assert skewed.flow(node).rows_per_second < 0.7 * flow(node).rows_per_second


def test_a_top_has_k_rows_for_each_group_and_batch() -> None:
    counted = grouped(HITS, "domain", tumbling(MINUTE), n="count(*)")
    top = Top(counted, 10, (("n", True),), ("window",), "place")
    assert flow(top, "fresh").rows_per_second == pytest.approx(1.0)
    assert flow(top, "fresh").distinct["place"] == 10
    by_status = Top(grouped(HITS, "domain status", n="count(*)"), 2, (("n", True),), ("status",))
    assert flow(by_status, flush_seconds=10.0).rows_per_second == pytest.approx(2.0)
    wide = Top(counted, 10**6, (("n", True),), ("window",))
    assert flow(wide, "fresh").rows_per_second == flow(counted, "fresh").rows_per_second


def test_operators_that_let_rows_pass() -> None:
    assert flow(Order(AMS, "ts", 5)) == flow(AMS)
    assert flow(ConnectionPoint(AMS, "here", MINUTE)) == flow(AMS)
    narrow = mapped(AMS, ts="ts", domain="domain")
    assert flow(Superbox(narrow, (AMS,), "narrow")) == flow(narrow)


def test_resampling_on_a_grid_and_at_other_times() -> None:
    grid = Resample(AMS, ("domain",), ("bytes",), "previous", 2 * SECOND, None, 5 * SECOND)
    assert flow(grid).rows_per_second == pytest.approx(uniform(500, 1_000) / 2)
    points = Resample(AMS, (), ("bytes",), "previous", None, USERS)
    assert flow(points).rows_per_second == 20
    assert flow(points).streams == {("hits", "ams"), ("users", "hq")}
    assert flow(points).row_bytes > 30


def test_waiting_keeps_the_rows_that_a_signal_comes_for() -> None:
    predicate = parse_expression("domain = name", pair_schema(AMS.schema, USERS.schema))
    found = flow(WaitFor(AMS, USERS, predicate, MINUTE))
    assert found.rows_per_second == pytest.approx(100 * (1 - math.exp(-20 * 60 / 4_000)))
    assert found.row_bytes == pytest.approx(40)


def test_reads_and_updates_run_once_for_each_row() -> None:
    read = flow(Read(AMS, TOP_OF_TABLE, "SELECT most FROM limits WHERE domain = :domain"))
    assert read.rows_per_second == 100
    assert read.row_bytes == pytest.approx(40 + column_bytes(TOP_OF_TABLE.schema.type_of("most")))
    change = "UPDATE limits SET most = :bytes WHERE domain = :domain"
    update = flow(Update(AMS, TOP_OF_TABLE, change, (("ts", Column("ts")), ("domain", Column("domain")))))
    assert update.rows_per_second == 100
    assert update.row_bytes == pytest.approx(flow(mapped(AMS, ts="ts", domain="domain")).row_bytes)


def test_derived_operators_are_what_they_stand_for() -> None:
    assert flow(Sample(AMS, 0.05)).rows_per_second == pytest.approx(5)
    one = parse_expression("status = 200", AMS.schema)
    assert flow(Split(AMS, (one,), 0)).rows_per_second == pytest.approx(10)
    assert flow(Split(AMS, (one,), 1)).rows_per_second == pytest.approx(90)
    few = Distinct(mapped(AMS, domain="domain", status="status"))
    assert flow(few, flush_seconds=10.0).rows_per_second == pytest.approx(uniform(1_000, 10_000) / 10)
    assert flow(Distinct(AMS)).rows_per_second == pytest.approx(100)  # every row has its own time


def test_every_kind_of_operator_has_a_flow_and_a_cost() -> None:
    figures = Statistics(Declared())
    for node in every_kind():
        found = figures.flow(node)
        assert 0 <= found.rows_per_second < math.inf
        assert 0 <= found.bytes_per_second < math.inf
        assert set(found.columns) == set(node.schema.names), node.kind
        assert 0 <= figures.cores(node) < 1, node.kind


def test_cores_follow_from_measured_rates() -> None:
    figures = Statistics(DECLARED)
    assert figures.cores(where(HITS, "status = 200")) == pytest.approx(400 * 0.25e-6)
    calls = grouped(AMS, n="count(*)").functions
    partial = Partial(AMS, ("domain",), calls, tumbling(MINUTE))
    assert figures.cores(partial) == pytest.approx(100 * 2 / 2.2e6)
    slid = Partial(AMS, ("domain",), calls, sliding(2 * MINUTE, MINUTE))
    assert figures.cores(slid) == pytest.approx(1.5 * figures.cores(partial))
    sketches = grouped(AMS, a="approx_count_distinct(domain)", b="approx_percentile(bytes, 0.5)").functions
    assert figures.cores(Partial(AMS, (), sketches)) == pytest.approx(100 * 2 / 1.2e6)
    pair = Join(HITS, USERS, "inner", (("domain", "name"),), Band("ts", "seen", 0, MINUTE))
    assert figures.cores(pair) == pytest.approx(420 * 2 / 0.65e6)
    assert figures.cores(Sample(AMS, 0.5)) == figures.cores(where(AMS, "status = 200"))
    assert figures.cores(AMS) == 0


def test_missing_figures_are_assumed_and_said() -> None:
    figures = Statistics(Declared({"hits": StreamFigures({"ams": OriginFigures(), "nyc": OriginFigures(5, 20)})}))
    found = figures.flow(grouped(HITS, "domain", n="count(*)"))
    assert found.rows_per_second == pytest.approx(uniform(10_050, 1_000) / 10)
    assert len(figures.warnings) == 3
    assert figures.warnings[0] == "stream 'hits' at 'ams' has no rows_per_second: 1,000 rows/s are assumed."
    assert figures.warnings[1].startswith("stream 'hits' at 'ams' has no row_bytes: ")
    assert figures.warnings[2] == "stream 'hits' has no distinct count of 'domain': 1,000 values are assumed."
    assert Statistics(DECLARED).warnings == []
    complete = Statistics(DECLARED)
    complete.flow(grouped(HITS, "domain", n="count(*)"))
    assert complete.warnings == []
    nowhere = Statistics(Declared())
    assert nowhere.flow(PAGES).rows_per_second == 1_000
    assert nowhere.flow(PAGES).streams == {("pages", "hq")}


def test_unknown_queries_and_impossible_flushes_are_refused() -> None:
    with pytest.raises(InputError, match="unknown query 'frsh'"):
        Statistics(DECLARED, "frsh")
    with pytest.raises(InputError, match="every 0 seconds"):
        Statistics(DECLARED, flush_seconds=0)


def test_streams_without_rows() -> None:
    none = Statistics(Declared({"hits": StreamFigures({"ams": OriginFigures(0, 40), "nyc": OriginFigures(0, 60)})}))
    whole = grouped(HITS, "status", tumbling(MINUTE), n="count(*)", d="approx_count_distinct(domain)")
    _, _, finished = split(whole, AMS, NYC)
    for node in (HITS, Union((AMS, NYC)), finished, Top(finished, 3, (("n", True),))):
        assert none.flow(node).rows_per_second == 0
        assert none.flow(node).bytes_per_second == 0
        assert none.flow(node).row_bytes > 0


def test_deep_and_wide_graphs_are_quick() -> None:
    node: Operator = AMS
    for number in range(1_000):
        node = where(node, f"status <> {number}") if number % 2 else mapped(node, **{n: n for n in AMS.schema.names})
    sites = tuple(f"s{number}" for number in range(500))
    parts = [Source("hits", HITS.columns, 0, (site,)) for site in sites]
    _, _, finished = split(grouped(HITS, "domain", tumbling(MINUTE), n="count(*)"), *parts)
    figures = Statistics(DECLARED)
    start = time.process_time()
    figures.flow(node)
    figures.flow(finished)
    assert time.process_time() - start < 1.5  # for 2,000 nodes; some 0.2 s are usual


@given(
    st.lists(st.floats(0, 1e5), min_size=1, max_size=5),
    st.integers(1, 10**7),
    st.sampled_from([0.0, 0.8, 1.3]),
    st.sampled_from([1.0, 7.0, 60.0, 200.0]),
    st.sampled_from([tumbling(MINUTE), sliding(5 * MINUTE, MINUTE), None]),
)
@settings(max_examples=60, deadline=None)
def test_merging_never_adds(rates: list, values: int, skew: float, seconds: float, window) -> None:
    origins = {f"s{number}": OriginFigures(rate, 40) for number, rate in enumerate(rates)}
    figures = Statistics(
        Declared({"hits": StreamFigures(origins, {"domain": values}, {"domain": skew})}), flush_seconds=seconds
    )
    parts = [Source("hits", HITS.columns, 0, (site,)) for site in origins]
    partials, merged, finished = split(grouped(HITS, "domain", window, n="count(*)"), *parts)
    each = [figures.flow(one).rows_per_second for one in partials]
    after = figures.flow(merged).rows_per_second
    assert max(each) * (1 - 1e-6) <= after <= sum(each) * (1 + 1e-6)
    assert all(
        rows <= figures.flow(one).lifted_per_second * (1 + 1e-9) for rows, one in zip(each, partials, strict=True)
    )
    assert figures.flow(finished).rows_per_second == after

"""For each rule: graphs on which it fires, and graphs on which it must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.shorthand import MINUTE, SECOND, grouped, mapped, session, sliding, stream, tumbling, tuples, where
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.expressions.typing import parse_condition
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Combine, Finish, Merge, Partial, detached
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Band, ConnectionPoint, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Update
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.tables import Table

Drawn = Graph | Operator


@dataclass(frozen=True)
class Case:
    """What a rule changes, and what it leaves alone: each with the reason."""

    fires: dict[str, Drawn]
    stays: dict[str, Drawn]


HITS = stream("hits", "ts TIMESTAMP, k INT, a INT, x DOUBLE, s STRING")
MISSES = stream("misses", "ts TIMESTAMP, k INT, a INT, x DOUBLE, s STRING")
BOTH = Union((HITS, MISSES))
BOOK = stream("book", "ts TIMESTAMP, k INT, a INT, x DOUBLE, s STRING", revisions=True)
REFS = stream("refs", "at TIMESTAMP, id INT, w BIGINT, name STRING", "at")
SPREAD = stream("hits", "ts TIMESTAMP, k INT, a INT, x DOUBLE, s STRING", origins=("ams", "nyc"))
POINT = ConnectionPoint(HITS, "kept", keep_time=MINUTE)
NOTES = Table("notes", parse_schema("id INT, n BIGINT"), ("id",))
LOW, HIGH = where(HITS, "k < 2"), where(MISSES, "k >= 2")
WAITING = WaitFor(HITS, REFS, parse_condition("k = id", pair_schema(HITS.schema, REFS.schema)), 5 * SECOND)


def kept(node: Operator, *names: str) -> Map:
    return Map(node, tuple((name, Column(name)) for name in names))


def joined(left: Operator, right: Operator, how="inner", keys=(("k", "id"),), band=None) -> Join:
    return Join(left, right, how, keys, band)


def best(node: Operator, k: int = 2, per: tuple[str, ...] = ("k",), rank: str | None = None) -> Top:
    return Top(node, k, (("a", True),), per, rank)


def states(node: Operator) -> Partial:
    calls = grouped(node, n="count(*)", most="max(a)").functions
    return Partial(node, ("k", "s"), calls, tumbling(5 * SECOND))


def combined(node: Operator) -> Combine:
    """Partials of short windows in longer ones, by one key less."""
    return Combine(node, ("k",), detached(states(HITS).functions), sliding(20 * SECOND, 10 * SECOND))


def finished(node: Operator) -> Finish:
    calls = detached(states(HITS).functions)
    return Finish(Merge(node, ("k", "window"), calls), calls)


def updated(node: Operator) -> Update:
    report = tuple((name, Column(name)) for name in node.schema.names)
    return Update(node, NOTES, "INSERT INTO notes (id, n) VALUES (:k, 1L)", report)


def two_times(name: str, first: str) -> Source:
    """A stream with two columns that tell the time, of which `first` is its event time."""
    columns = parse_schema("ts TIMESTAMP, seen TIMESTAMP, k INT").columns
    other = "seen" if first == "ts" else "ts"
    return Source(name, Schema(columns, ((first, 0), (other, 0))))


CASES: dict[str, Callable[[], Case]] = {}


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


@case
def expand_derived() -> Case:
    inside = where(HITS, "a > 1")
    return Case(
        {
            "distinct groups by everything": Distinct(kept(HITS, "k", "s")),
            "a sample is a filter on a hash": Sample(HITS, 0.25, ("k",)),
            "a way out of a split": Split(HITS, (parse_condition("k < 2", HITS.schema),), 1),
            "a superbox is its body": grouped(Superbox(inside, (HITS,), "busy"), "k", n="count(*)"),
        },
        {"core operators stand for themselves": best(where(HITS, "a > 1"))},
    )


@case
def expand_origins() -> Case:
    return Case(
        {
            "below an aggregate": grouped(SPREAD, "k", n="count(*)"),
            "when all readers can begin on parts": Graph.of(some=where(SPREAD, "k = 1"), most=best(SPREAD)),
        },
        {
            "a result gains nothing": SPREAD,
            "nor a join": joined(SPREAD, REFS),
            "one reader wants it whole": Graph.of(all=SPREAD, some=where(SPREAD, "k = 1")),
            "the order of arrival matters": Order(where(SPREAD, "k = 1"), "ts", 1),
            "one origin": where(stream("hits", "ts TIMESTAMP, k INT", origins=("ams",)), "k = 1"),
            "origins that are not named": where(HITS, "k = 1"),
        },
    )


@case
def flatten_unions() -> Case:
    return Case(
        {
            "a union in a union": Union((BOTH, BOOK)),
            "a union of one": where(Union((HITS,)), "k = 1"),
        },
        {
            "others read the inner union": Graph.of(inner=BOTH, outer=Union((BOTH, BOOK))),
            "flat already": BOTH,
        },
    )


@case
def merge_filters() -> Case:
    first = where(HITS, "k = 1")
    return Case(
        {"two in a row": where(first, "a > 2"), "the same condition twice": where(where(first, "a > 2"), "k = 1")},
        {
            "others read the first": Graph.of(first=first, second=where(first, "a > 2")),
            "a connection point between": where(ConnectionPoint(first, "kept"), "a > 2"),
        },
    )


@case
def simplify_filters() -> Case:
    return Case(
        {
            "always true": where(HITS, "TRUE"),
            "NULL is never true": where(HITS, "k > 1 AND NULL"),
            "one follows from the other": where(HITS, "a > 3 AND a > 1 AND a IS NOT NULL"),
            "they exclude one another": where(HITS, "a > 3 AND a < 2"),
            "asked below already": where(mapped(where(HITS, "k = 1"), key="k", a="a"), "key < 5 AND a > 1"),
            "asked below for another reason in each input": where(
                Union((where(HITS, "k = 1"), where(MISSES, "k IN (2, 3)"))), "k >= 1"
            ),
        },
        {
            "nothing follows": where(HITS, "a > 3 AND k > 1"),
            "NaN is above all numbers": where(HITS, "x > 3 AND NOT isnan(x)"),
            "a group's zero has lost its sign": where(
                grouped(where(HITS, "CAST(x AS STRING) = '-0.0'"), "x", n="count(*)"), "CAST(x AS STRING) = '-0.0'"
            ),
        },
    )


@case
def order_conditions() -> Case:
    return Case(
        {"the cheap one first": where(HITS, "contains(lower(s), 'x') AND 400 <= a")},
        {
            "in order already": where(HITS, "a >= 400 AND contains(lower(s), 'x')"),
            "one condition": where(HITS, "a = 1"),
        },
    )


@case
def merge_maps() -> Case:
    once = mapped(HITS, ts="ts", y="a * 2", s="s")
    return Case(
        {
            "computed from computed": mapped(once, z="y + 1", s="s"),
            "a plain column read twice": mapped(kept(HITS, "a", "k"), b="a + a"),
            "time is still told": mapped(mapped(HITS, t="ts + INTERVAL '1' SECOND"), u="date_trunc('minute', t)"),
        },
        {
            "it would be computed twice": mapped(once, z="y + y"),
            "others read the first": Graph.of(first=once, second=mapped(once, z="y + 1")),
            "a column's zero has lost its sign": mapped(mapped(HITS, y="x * -1"), z="CAST(y AS STRING)"),
            "a constant that is no time": mapped(mapped(HITS, y="'soon'"), z="CAST(y AS TIMESTAMP)"),
        },
    )


@case
def drop_identity_maps() -> Case:
    return Case(
        {"each column to itself": where(kept(HITS, "ts", "k", "a", "x", "s"), "k = 1")},
        {
            "columns left out": kept(HITS, "ts", "k"),
            "another order": kept(HITS, "k", "ts", "a", "x", "s"),
            "another event time": kept(two_times("t", "seen"), "ts", "seen", "k"),
        },
    )


@case
def push_filter_through_map() -> Case:
    renamed = mapped(HITS, ts="ts", key="k", y="a + 1", u="upper(s)", site="'ams'")
    return Case(
        {
            "a column by another name": where(renamed, "key = 1"),
            "a computed one, with no bound to be had": where(renamed, "u = 'A'"),
            "some stay": where(renamed, "y < 3 AND key = 1"),
            "a constant": where(renamed, "site = 'nyc'"),
        },
        {
            "a bound on a plain column can be had": where(renamed, "y < 3"),
            "others read the map": Graph.of(mapped=renamed, some=where(renamed, "key = 1")),
            "a column's zero has lost its sign": where(mapped(HITS, y="x * -1"), "CAST(y AS STRING) = '0.0'"),
        },
    )


@case
def push_filter_through_join() -> Case:
    inner = joined(HITS, REFS)
    return Case(
        {
            "both sides of an inner join": where(inner, "a > 1 AND name = 'a' AND a < w"),
            "the left side of a left join": where(joined(HITS, REFS, "left"), "a > 1 AND name = 'a'"),
            "the right side of a right join": where(joined(HITS, REFS, "right"), "a > 1 AND name = 'a'"),
        },
        {
            "the right side of a left join": where(joined(HITS, REFS, "left"), "name IS NULL"),
            "a full join": where(joined(HITS, REFS, "full"), "a > 1"),
            "a condition on both": where(inner, "a < w"),
            "others read the join": Graph.of(all=inner, some=where(inner, "a > 1")),
        },
    )


@case
def push_filter_through_groups() -> Case:
    counted = grouped(HITS, "k s", tumbling(10 * SECOND), n="count(*)")
    return Case(
        {
            "an aggregate's keys": where(counted, "k = 1 AND n > 2"),
            "sessions lie within groups": where(grouped(HITS, "k", session(5 * SECOND), n="count(*)"), "k = 1"),
            "and so do counted windows with slack": where(
                grouped(HITS, "k", tuples(2, 1, slack=1), n="sum(a)"), "k < 3"
            ),
            "a top's groups": where(best(HITS, rank="place"), "k = 1 AND a > 2"),
            "what is combined by": finished(where(combined(states(HITS)), "k = 1")),
            "a resampling's keys": where(Resample(HITS, ("k",), ("a",), "previous", every=4 * SECOND), "k > 1"),
        },
        {
            "an answer": where(counted, "n > 2"),
            "a window": where(counted, "window.start > TIMESTAMP '2026-01-01'"),
            "a window of other windows": finished(
                where(combined(states(HITS)), "window.start > TIMESTAMP '2026-01-01'")
            ),
            "what a top orders by": where(best(HITS), "a > 2"),
            "a group's zero has lost its sign": where(grouped(HITS, "x", n="count(*)"), "CAST(x AS STRING) = '0.0'"),
            "others read the groups": Graph.of(all=counted, some=where(counted, "k = 1")),
        },
    )


@case
def push_filter_through_selection() -> Case:
    at = Resample(HITS, ("k",), ("a",), "previous", at=mapped(REFS, at="at", k="id", name="name"))
    return Case(
        {"the side that waits": where(WAITING, "a > 1"), "the stream of the times": where(at, "name = 'a' AND a > 1")},
        {
            "an order drops by who arrives": where(Order(HITS, "ts", 1), "k = 1"),
            "a connection point is not crossed": where(POINT, "k = 1"),
            "nor is an update": where(updated(HITS), "k = 1"),
            "what was resampled": where(at, "a > 1"),
        },
    )


@case
def push_back_monotone() -> Case:
    computed = mapped(HITS, y="a + 10", z="10 - a", h="date_trunc('hour', ts)", v="x * 2", w="-(x)", k="k", t="a + k")
    return Case(
        {
            "growing": where(computed, "y < 15"),
            "falling": where(computed, "z < 3"),
            "between": where(computed, "y IN (12, 15)"),
            "the start of an hour": where(computed, "h >= TIMESTAMP '2026-01-01 10:30:00'"),
            "floating point, a little wide": where(computed, "v <= 3.0"),
            "further computed": where(computed, "floor(v / 3) < 2"),
        },
        {
            "the bound is there": where(mapped(where(HITS, "a < 5"), y="a + 10"), "y < 15"),
            "two columns": where(computed, "t < 3"),
            "NaN would be lost": where(computed, "w > 3.0"),
            "a plain column": where(computed, "k < 3"),
            "others read the map": Graph.of(all=computed, some=where(computed, "y < 15")),
        },
    )


@case
def push_back_window() -> Case:
    counted = grouped(HITS, "k", tumbling(10 * SECOND), n="count(*)")
    slid = grouped(HITS, "k", sliding(10 * SECOND, 5 * SECOND), n="count(*)")
    start = "TIMESTAMP '2026-01-01 00:00:20'"
    return Case(
        {
            "from a start": where(counted, f"window.start >= {start}"),
            "before an end": where(slid, f"window.end <= {start}"),
            "up to a start": where(slid, f"window.start < {start}"),
            "after an end": where(slid, f"window.end > {start}"),
            "one window": where(counted, f"window.start = {start} AND n > 1"),
        },
        {
            "the bound is there": where(
                grouped(where(HITS, f"ts >= {start}"), "k", tumbling(10 * SECOND), n="count(*)"),
                f"window.start >= {start}",
            ),
            "a session's rows decide where it starts": where(
                grouped(HITS, "k", session(5 * SECOND), n="count(*)"), f"window.start >= {start}"
            ),
            "not a bound": where(counted, f"window.start <> {start}"),
            "others read the windows": Graph.of(all=counted, some=where(counted, f"window.start >= {start}")),
        },
    )


@case
def derive_filters_through_join() -> Case:
    few = where(HITS, "k < 3 AND a > 1")
    recent = where(HITS, "ts >= TIMESTAMP '2026-01-01 00:00:10'")
    band = Band("ts", "at", -2 * SECOND, 5 * SECOND)
    wide = mapped(REFS, at="at", id="CAST(id AS DOUBLE)")
    return Case(
        {
            "from left to right": joined(few, REFS),
            "from right to left": joined(HITS, where(REFS, "id IN (1, 2)")),
            "through a band": joined(recent, REFS, band=band),
            "of a left join, to the right": joined(few, where(REFS, "id > 0"), "left"),
        },
        {
            "of a left join, not to the left": joined(HITS, where(REFS, "id < 3"), "left"),
            "a full join": joined(few, REFS, "full"),
            "known there": joined(few, where(REFS, "id < 2"), "left"),
            "conversion rounds": joined(few, wide, "left"),
            "not about a key": joined(where(HITS, "a > 1"), REFS),
        },
    )


@case
def push_row_local_through_union() -> Case:
    return Case(
        {
            "a filter": where(BOTH, "k = 1"),
            "a map": mapped(BOTH, ts="ts", y="a + 1"),
            "several filters": Graph.of(one=where(BOTH, "k = 1"), two=where(BOTH, "k = 2")),
        },
        {
            "someone reads the union as it is": Graph.of(all=BOTH, some=where(BOTH, "k = 1")),
            "a top is not row-local": best(BOTH),
            "through a connection point": where(ConnectionPoint(BOTH, "kept"), "k = 1"),
        },
    )


@case
def drop_empty_inputs() -> Case:
    nothing = where(MISSES, "FALSE")
    return Case(
        {
            "one input left": where(Union((HITS, nothing)), "k = 1"),
            "nothing at all": Union((nothing, where(HITS, "FALSE"))),
            "nothing after a map": Union((kept(HITS, "ts", "k"), kept(nothing, "ts", "k"))),
        },
        {
            "an update has effects": Union((HITS, where(updated(MISSES), "FALSE"))),
            "others may attach": Union((HITS, where(ConnectionPoint(MISSES, "kept"), "FALSE"))),
            "someone waits for its marks": joined(Union((HITS, nothing)), REFS, "left"),
        },
    )


@case
def push_groups_through_disjoint_union() -> Case:
    apart = Union((LOW, HIGH))
    tagged = Union((mapped(HITS, site="'ams'", a="a"), mapped(MISSES, site="'nyc'", a="a")))
    hashed = Union(tuple(where(s, f"pmod(xxhash64(k), 2L) = {p}L") for p in (0, 1) for s in (HITS, MISSES)))
    return Case(
        {
            "by a bound": grouped(apart, "k", session(5 * SECOND), n="count(*)"),
            "a top's groups, places too": best(apart, rank="place"),
            "by a constant": grouped(tagged, "site", n="sum(a)"),
            "partials that are combined": finished(combined(Union((states(LOW), states(HIGH))))),
            "by a hash, in clusters": grouped(hashed, "k", n="count(*)"),
        },
        {
            "not known to be disjoint": grouped(Union((LOW, MISSES)), "k", n="count(*)"),
            "disjoint on another column": grouped(apart, "s", n="count(*)"),
            "disjoint only by the sign of a zero": grouped(
                Union((where(HITS, "CAST(x AS STRING) = '0.0'"), where(MISSES, "CAST(x AS STRING) = '-0.0'"))),
                "x",
                n="count(*)",
            ),
            "a timeout waits for marks": grouped(apart, "k", tuples(2, 1, timeout=5 * SECOND), n="count(*)"),
            "the order of arrival matters above": Order(best(apart, per=("k",)), "a", 1),
        },
    )


@case
def split_aggregate() -> Case:
    revised = Union((HITS, BOOK))
    return Case(
        {
            "per window": grouped(BOTH, "k", tumbling(10 * SECOND), n="count(*)", last="last(a)"),
            "rows that may be taken back": grouped(revised, "k", total="sum(a)"),
            "keys alone": grouped(BOTH, "k"),
            "several readers": Graph.of(one=grouped(BOTH, "k", n="count(*)"), two=grouped(BOTH, "s", n="max(a)")),
        },
        {
            "one input": grouped(HITS, "k", n="count(*)"),
            "sessions need their rows together": grouped(BOTH, "k", session(5 * SECOND), n="count(*)"),
            "a maximum cannot take back": grouped(revised, "k", most="max(a)"),
            "the order of arrival matters above": Order(grouped(BOTH, "k", n="count(*)"), "n", 1),
            "an input tells the time by another column": grouped(
                Union((two_times("t", "ts"), two_times("u", "seen"))), "k", last="last(k)"
            ),
            "someone reads the union as it is": Graph.of(all=BOTH, counted=grouped(BOTH, "k", n="count(*)")),
        },
    )


@case
def push_top_through_union() -> Case:
    return Case(
        {
            "of each input": best(BOTH, per=()),
            "places only above": best(BOTH, rank="place"),
            "of the input that is not cut": best(Union((best(HITS), MISSES))),
        },
        {
            "cut already": best(Union((best(HITS), best(MISSES)))),
            "one input": best(HITS),
            "someone reads the union as it is": Graph.of(all=BOTH, some=best(BOTH)),
        },
    )


@case
def prune_columns() -> Case:
    return Case(
        {
            "above a stream": grouped(HITS, "k", tumbling(10 * SECOND), n="sum(a)"),
            "before a join": kept(joined(HITS, REFS), "a", "name"),
            "in every input of a union": grouped(Union((where(HITS, "a > 1"), MISSES)), "k", n="count(*)"),
            "functions that nobody reads": kept(grouped(HITS, "k", n="count(*)", most="max(a)"), "k", "n"),
            "what the last value needs": grouped(HITS, "k", last="last(a)"),
            "one column at least": grouped(HITS, "", n="count(*)"),
            "once for several readers": Graph.of(
                one=grouped(HITS, "k", n="sum(a)"), two=grouped(HITS, "s", n="max(a)")
            ),
            "states that nobody reads are not combined": kept(finished(combined(states(HITS))), "k", "n"),
            "places that nobody reads": kept(best(kept(HITS, "k", "a"), rank="place"), "k"),
            "the side that only signals": kept(WAITING, "ts", "a"),
        },
        {
            "a result gives all": HITS,
            "a top decides ties by the whole row": kept(best(HITS), "k"),
            "a counted window too": kept(grouped(HITS, "k", tuples(2), n="count(*)"), "k", "n"),
            "and an order": kept(Order(HITS, "ts", 1), "ts"),
            "others may attach": kept(POINT, "k"),
            "an update may use it": kept(updated(HITS), "k"),
        },
    )


@case
def share_equal() -> Case:
    return Case(
        {
            "filters in other words": Graph.of(one=where(HITS, "k = 1"), two=where(HITS, "k IN (1)")),
            "unions in another order": Graph.of(one=BOTH, two=where(Union((MISSES, HITS)), "k = 1")),
        },
        {
            "one implies the other": Graph.of(one=where(HITS, "k = 1"), two=where(HITS, "k < 3")),
            "the order of arrival matters": Graph.of(one=Order(BOTH, "ts", 1), two=Union((MISSES, HITS))),
        },
    )


@case
def share_contained() -> Case:
    narrow, wide = "a >= 5 AND s = 'a'", "a >= 4"
    return Case(
        {
            "filters of one input": Graph.of(wide=where(HITS, wide), narrow=where(HITS, narrow)),
            "through equal maps": Graph.of(
                wide=mapped(where(HITS, wide), b="a", t="s"), narrow=mapped(where(HITS, narrow), b="a", t="s")
            ),
            "through the keys of equal aggregates": Graph.of(
                all=grouped(HITS, "k s", n="count(*)"), some=grouped(where(HITS, "k = 1"), "k s", n="count(*)")
            ),
            "through unions": Graph.of(
                wide=Union((where(HITS, wide), where(MISSES, wide))),
                narrow=Union((where(HITS, "a >= 5"), where(MISSES, "a >= 5"))),
            ),
            "through joins": Graph.of(
                wide=joined(HITS, REFS), narrow=joined(where(HITS, narrow), where(REFS, "w > 1"))
            ),
            "a chain": Graph.of(**{f"q{n}": where(HITS, f"a >= {n}") for n in (1, 2, 3)}),
        },
        {
            "neither contains the other": Graph.of(one=where(HITS, "a >= 4"), two=where(HITS, "a <= 5")),
            "not by the keys": Graph.of(
                all=grouped(HITS, "k", n="count(*)"), some=grouped(where(HITS, "a = 1"), "k", n="count(*)")
            ),
            "another question": Graph.of(
                all=grouped(HITS, "k", n="count(*)"), some=grouped(where(HITS, "k = 1"), "k", n="sum(a)")
            ),
            "orders depend on who arrives": Graph.of(
                wide=Order(where(HITS, wide), "ts", 1), narrow=Order(where(where(HITS, wide), "a >= 5"), "ts", 1)
            ),
            "connection points differ by name": Graph.of(
                wide=ConnectionPoint(HITS, "one"), narrow=where(ConnectionPoint(HITS, "two"), "k = 1")
            ),
        },
    )


@case
def delay_filter_past_join() -> Case:
    return Case(
        {
            "either side of an inner join": joined(where(HITS, "contains(s, 'a')"), where(REFS, "w > 1")),
            "the left side of a left join": joined(where(HITS, "a > 1"), where(REFS, "w > 1"), "left"),
        },
        {
            "a full join": joined(where(HITS, "a > 1"), REFS, "full"),
            "nothing is filtered": joined(HITS, REFS),
            "others read the filtered rows": Graph.of(
                some=where(HITS, "a > 1"), pairs=joined(where(HITS, "a > 1"), REFS)
            ),
        },
    )


@case
def distribute_join_over_union() -> Case:
    two = Union((where(HITS, "k < 1"), where(HITS, "k >= 1")))
    return Case(
        {
            "a union on the left": joined(two, REFS),
            "one that others read too": Graph.of(some=where(two, "a > 1"), pairs=joined(two, REFS)),
        },
        {
            "an outer join": joined(two, REFS, "left"),
            "no union": joined(HITS, REFS),
        },
    )


@case
def split_single_aggregate() -> Case:
    return Case(
        {
            "of one stream": grouped(HITS, "k", tumbling(10 * SECOND), n="count(*)"),
            "that is revised": grouped(BOOK, "k", n="avg(x)"),
        },
        {
            "sessions": grouped(HITS, "k", session(5 * SECOND), n="count(*)"),
            "a maximum of what is revised": grouped(BOOK, "k", n="max(a)"),
        },
    )


@case
def threshold_top() -> Case:
    counts = grouped(BOTH, "k s", tumbling(10 * SECOND), n="count(*)")
    overlapping = grouped(BOTH, "s", sliding(10 * SECOND, 5 * SECOND), n="count(*)", mean="avg(x)")
    started = mapped(overlapping, s="s", at="window.start", n="n", mean="mean")
    back = grouped(Union((HITS, BOOK)), "s", tumbling(10 * SECOND), n="count(*)")
    return Case(
        {
            "of each window and key": Top(counts, 2, (("n", True),), ("window", "k"), "place"),
            "of windows that overlap, with a mean beside": Top(started, 2, (("n", True), ("s", True)), ("at",)),
        },
        {
            "the least": Top(counts, 2, (("n", False),), ("window",)),
            "rows that are taken back": Top(back, 2, (("n", True),), ("window",)),
        },
    )

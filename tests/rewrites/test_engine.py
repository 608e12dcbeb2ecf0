"""The engine applies rules to rest, says what it did, and names the rule that breaks something."""

import pytest

from tests.shorthand import SECOND, grouped, mapped, stream, tumbling, where
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.tree import Call, Column, Literal
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import Filter, Join, Map, Source, Top, Union
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.types import INT
from tradewind.errors import RuleError
from tradewind.rewrites.engine import rewrite
from tradewind.rewrites.expand_origins import expand_origins
from tradewind.rewrites.merge_filters import merge_filters
from tradewind.rewrites.order_conditions import order_conditions
from tradewind.rewrites.push_filter_through_map import push_filter_through_map
from tradewind.rewrites.rule import Context, graph_rule, node_rule
from tradewind.rewrites.rules import RULES

HITS = stream("hits", "ts TIMESTAMP, k INT, a INT")
PAIR = where(where(HITS, "k = 1"), "a > 2")


def test_trace_says_what_was_done_and_why():
    found = rewrite(Graph.of(result=PAIR), (merge_filters,))
    assert found.graph["result"] == where(HITS, "k = 1 AND a > 2")
    (fired,) = found.trace
    assert str(fired) == "merge_filters: filter a > 2 → filter k = 1 AND a > 2"
    assert fired.reason == merge_filters.helps


def test_observer_sees_each_change():
    seen = []
    rewrite(Graph.of(result=PAIR), (merge_filters, order_conditions), lambda rule, graph: seen.append(rule.name))
    assert seen == ["merge_filters", "order_conditions"]


def test_nothing_to_do():
    graph = Graph.of(result=HITS)
    assert rewrite(graph).graph is graph
    assert rewrite(graph).trace == ()


def test_shared_parts_are_rewritten_once():
    seen = []

    @node_rule(law="None.", helps="Nobody.")
    def watch(node, context):
        seen.append(node)

    shared = where(HITS, "k = 1")
    rewrite(Graph.of(one=where(shared, "a > 1"), two=where(shared, "a > 2")), (watch,))
    assert seen.count(shared) == 1


def test_a_rule_that_loses_a_column_is_named():
    @node_rule(law="Wrong.", helps="Nobody.")
    def forget(node, context):
        return Map(node, (("k", Column("k")),)) if isinstance(node, Source) else None

    with pytest.raises(RuleError, match=r"rule forget: stream hits: the columns .* have become \(k INT\)"):
        rewrite(Graph.of(result=HITS), (forget,))


def test_a_rule_that_loses_the_time_is_named():
    @node_rule(law="Wrong.", helps="Nobody.")
    def timeless(node, context):
        return Source("hits", Schema(node.schema.columns)) if isinstance(node, Source) and node.schema.times else None

    with pytest.raises(RuleError, match=r"rule timeless: .*'ts' no longer tells the time"):
        rewrite(Graph.of(result=HITS), (timeless,))


def test_a_rule_that_is_later_with_the_time_is_named():
    @graph_rule(law="Wrong.", helps="Nobody.")
    def slow(graph, context):
        return Graph.of(result=Source("hits", Schema(HITS.schema.columns, (("ts", 5),))))

    with pytest.raises(RuleError, match=r"rule slow: result 'result': 'ts' tells the time 5 µs later"):
        rewrite(Graph.of(result=HITS), (slow,))


def test_a_rule_that_changes_the_event_time_inside_is_named():
    times = (("ts", 0), ("seen", 0))
    columns = parse_schema("ts TIMESTAMP, seen TIMESTAMP").columns

    @node_rule(law="Wrong.", helps="Nobody.")
    def turn(node, context):
        return Source("t", Schema(columns, times[::-1])) if node.schema.times == times else None

    with pytest.raises(RuleError, match="rule turn: stream t: the event time was 'ts' and is 'seen'"):
        rewrite(Graph.of(result=Source("t", Schema(columns, times))), (turn,))


def test_a_rule_that_builds_nonsense_is_named():
    @node_rule(law="Wrong.", helps="Nobody.")
    def nonsense(node, context):
        return Filter(node, Column("missing")) if isinstance(node, Source) else None

    with pytest.raises(RuleError, match=r"rule nonsense: it builds a wrong graph: .*unknown column 'missing'"):
        rewrite(Graph.of(result=HITS), (nonsense,))


def test_a_rule_that_renames_a_result_is_named():
    @graph_rule(law="Wrong.", helps="Nobody.")
    def rename(graph, context):
        return Graph.of(other=graph["result"])

    with pytest.raises(RuleError, match="rule rename: the results"):
        rewrite(Graph.of(result=HITS), (rename,))


def test_a_rule_that_fires_on_what_it_made_is_named():
    @node_rule(law="Wrong.", helps="Nobody.")
    def grow(node, context):
        return where(node, "k = 1") if isinstance(node, Source) else None

    with pytest.raises(RuleError, match="rule grow: it does not come to rest"):
        rewrite(Graph.of(result=HITS), (grow,))


def test_rules_that_undo_one_another_are_named():
    def swap(old, new):
        def rule(node, context):
            return where(node.input, new) if node == where(HITS, old) else None

        rule.__name__ = f"to_{new[0]}"
        return node_rule(law="Wrong.", helps="Nobody.")(rule)

    with pytest.raises(RuleError, match="the rules undo one another: to_a, to_k"):
        rewrite(Graph.of(result=where(HITS, "k = 1")), (swap("k = 1", "a = 1"), swap("a = 1", "k = 1")))


def test_rules_that_only_grow_together_are_named():
    def add(first, second):
        def rule(node, context):
            last = (
                isinstance(node, Filter) and isinstance(node.predicate, Call) and node.predicate.arguments[0] == first
            )
            return Filter(node, Call("=", (second, Literal(1, INT)))) if last and not context.shared(node) else None

        rule.__name__ = f"add_{second.name}"
        return graph_rule(law="Wrong.", helps="Nobody.")(
            lambda graph, context: Graph.of(result=rule(graph["result"], context) or graph["result"])
        )

    k, a = Column("k"), Column("a")
    with pytest.raises(RuleError, match="the rules do not come to rest"):
        rewrite(Graph.of(result=where(HITS, "k = 1")), (add(k, a), add(a, k)))


def test_last_rules_come_last_and_once():
    seen = []

    @graph_rule(law="None.", helps="Nobody.", last=True)
    def late(graph, context):
        seen.append(graph["result"])

    rewrite(Graph.of(result=PAIR), (late, merge_filters))
    assert seen == [where(HITS, "k = 1 AND a > 2")]


def test_context():
    spread = stream("hits", "ts TIMESTAMP, k INT", origins=("ams", "nyc"))
    some = where(spread, "k = 1")
    context = Context(Graph.of(some=some, more=where(some, "k < 3")))
    assert context.shared(some)
    assert not context.shared(spread)
    assert context.opens(spread)
    assert not context.opens(some)


def test_the_paper_example():
    """Figure 1 of seed 000: the most popular domains, counted where they are asked for."""
    sources = tuple(f"cdn{n}" for n in range(4))
    asked = stream("asked", "ts TIMESTAMP, domain STRING, url STRING", origins=sources)
    counted = grouped(asked, "domain", tumbling(60 * SECOND), hits="count(*)")
    top = Top(counted, 10, (("hits", True),), ("window",))
    found = rewrite(Graph.of(top=top)).graph
    kinds = [node.kind for node in found]
    assert kinds.count("partial") == 4
    assert kinds[-3:] == ["merge", "finish", "top"]
    assert all(names == ("ts", "domain") for names in (n.schema.names for n in found if isinstance(n, Map)))


def test_top_goes_below_a_merge_over_disjoint_keys():
    halves = []
    for half in (0, 1):
        parts = stream("asked", "ts TIMESTAMP, domain STRING", origins=("ams", "nyc"))
        halves.append(where(parts, f"pmod(xxhash64(domain), 2L) = {half}L"))
    counted = grouped(Union(tuple(halves)), "domain", tumbling(60 * SECOND), hits="count(*)")
    found = rewrite(Graph.of(top=Top(counted, 10, (("hits", True),), ("window",)))).graph
    top = found["top"]
    assert isinstance(top, Top)
    inner = top.input.inputs
    assert [node.kind for node in inner] == ["top", "top"]
    assert all(node.inputs[0].kind == "finish" and node.inputs[0].inputs[0].kind == "merge" for node in inner)


@pytest.mark.parametrize("length", [300, 1200])
def test_long_chains(length):
    """Deeper than Python's own stack."""
    node: Operator = HITS
    for _ in range(length):
        node = mapped(node, ts="ts", k="k + 1", a="a")
    found = rewrite(Graph.of(result=where(node, "a > 3")), (push_filter_through_map,))
    assert [n.kind for n in found.graph][:3] == ["source", "filter", "map"]


def test_many_filters_and_maps():
    node: Operator = HITS
    for number in range(24):
        node = mapped(node, ts="ts", k="k + 1", a="a") if number % 2 else where(node, f"a > {number % 7} AND k < 1000")
    found = rewrite(Graph.of(result=node)).graph
    (lowest,) = [n for n in found if isinstance(n, Filter) and isinstance(n.input, Source)]
    assert print_expression(lowest.predicate) == "a > 6 AND k < 989"


def test_diamonds_take_no_exponential_time():
    node: Operator = HITS
    for number in range(40):
        left, right = where(node, f"k = {number}"), where(node, f"a = {number}")
        pairs = Join(left, mapped(right, ts2="ts", k2="k", a2="a"), "inner", (("k", "k2"),))
        node = mapped(pairs, ts="ts", k="k", a="a2")
    assert rewrite(Graph.of(result=node)).trace


def test_rules_are_named_apart():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert repr(expand_origins) == f"<rule expand_origins: {expand_origins.law}>"

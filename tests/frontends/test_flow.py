"""Boxes and arrows: what each kind of box means, and that every graph can be written and read back."""

import pytest
import yaml
from hypothesis import given, settings

from tests.algebra.every import every_kind
from tests.frontends.graphs import SEEN, SPAN, A, B, graphs
from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.core import Map, Source, Top, Union
from tradewind.algebra.operators.derived import Split, Superbox
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow
from tradewind.errors import DeploymentError
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.yaml import read_yaml
from tradewind.frontends.flow.kinds import BOXES, WRITTEN_AS
from tradewind.frontends.flow.read import read_flow, read_graph
from tradewind.frontends.flow.superboxes import SuperboxKeys
from tradewind.frontends.flow.write import catalog_of, write_flow
from tradewind.frontends.sql.query import parse_query

CATALOG = Catalog({"a": A, "b": B}, {"seen": SEEN}, {"span": SPAN})


def built(text, superboxes=None):
    declared = {name: SuperboxKeys.model_validate(keys) for name, keys in (superboxes or {}).items()}
    return read_flow(read_yaml(text).data, CATALOG, declared)


def refused(text, superboxes=None):
    with pytest.raises(DeploymentError) as caught:
        built(text, superboxes)
    return [(problem.where, problem.what) for problem in caught.value.problems]


def test_every_kind_of_operator_is_a_kind_of_box():
    assert set(WRITTEN_AS) == set(KINDS.values())
    assert set(WRITTEN_AS.values()) == set(BOXES)


def test_every_kind_can_be_written_and_read_back():
    graph = every_kind()
    assert read_graph(write_flow(graph), catalog_of(graph)) == graph


def test_it_survives_being_a_file():
    graph = every_kind()
    text = yaml.safe_dump(write_flow(graph), sort_keys=False)
    assert read_graph(read_yaml(text).data, catalog_of(graph)) == graph


@given(graphs())
@settings(max_examples=200)
def test_random_graphs_can_be_written_and_read_back(graph):
    assert read_graph(write_flow(graph), catalog_of(graph)) == graph
    written = write_flow(graph, CATALOG)
    assert read_graph(written, CATALOG) == graph
    assert read_graph(read_yaml(yaml.safe_dump(written, sort_keys=False, allow_unicode=True)).data, CATALOG) == graph


def test_what_is_shared_is_written_once():
    trunk = built("t: {box: filter, in: a, where: x > 3}")["t"]
    graph = Graph.of(one=Top(trunk, 1, (("x", True),)), two=Top(trunk, 2, (("x", True),)))
    assert [box["box"] for box in write_flow(graph)["flow"].values()] == ["filter", "top", "top"]


def test_boxes_may_stand_in_any_order():
    nodes = built("last: {box: distinct, in: first}\nfirst: {box: filter, in: a, where: x > 3}")
    assert nodes["last"].inputs == (nodes["first"],)


def test_a_flow_equals_the_same_question_in_sql():
    nodes = built("""
some: {box: filter, in: a, where: x < 500}
per_minute: {box: aggregate, in: some, by: [k], window: 1 minute, functions: {hits: count(*)}}
top: {box: top, in: per_minute, k: 10, by: "hits DESC, k"}
answer: {box: map, in: top, columns: {minute: window.start, k: k, hits: hits}}
""")
    asked = parse_query(
        "SELECT window.start AS minute, k, count(*) AS hits FROM a WHERE x < 500 GROUP BY window(ts, '1 minute'), k "
        "QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, k) <= 10",
        CATALOG,
    )
    assert nodes["answer"] == asked


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("1 minute", TimeWindow("ts", 60_000_000, 60_000_000)),
        ("{size: 1 minute, step: 10 seconds}", TimeWindow("ts", 60_000_000, 10_000_000)),
        ("{size: 1 minute, on: TS, offset: 5s}", TimeWindow("ts", 60_000_000, 60_000_000, 5_000_000)),
        ("{session: 30 seconds}", SessionWindow("ts", 30_000_000)),
        ("{tuples: 2}", CountedWindow("ts", 2, 2)),
        ("{tuples: 2, step: 1, timeout: 5s, slack: 3}", CountedWindow("ts", 2, 1, 5_000_000, 3)),
        ("{tuples: 2, step: 2, order: x}", CountedWindow("x", 2, 2)),
        ("{values: x, size: 10, step: 5}", ValueWindow("x", 10, 5)),
        ("{values: ts, size: 1 hour}", ValueWindow("ts", 3_600_000_000, 3_600_000_000)),
        ("{values: d, size: 7 days, step: 1 day}", ValueWindow("d", 7, 1)),
    ],
)
def test_windows(text, window):
    node = built(f"w: {{box: aggregate, in: a, functions: {{n: count(*)}}, window: {text}}}")["w"]
    assert node.window == window


def test_maps_compute_keep_and_rename():
    nodes = built("""
only: {box: map, in: b, columns: {twice: z * 2, at: at}}
more: {box: map, in: b, keep: all, columns: {Z: z + 1, one: 1}}
kept: {box: map, in: b, keep: [at], columns: {twice: z * 2}}
other: {box: map, in: b, rename: {at: ts}}
same: {box: map, in: b, keep: all}
still: {box: map, in: b, keep: [at, key, z], always: true}
""")
    names = {name: node.schema.names for name, node in nodes.items()}
    assert names["only"] == ("twice", "at")
    assert names["more"] == ("at", "key", "z", "one")
    assert names["kept"] == ("at", "twice")
    assert names["other"] == ("ts", "key", "z")
    assert nodes["same"] == B
    assert isinstance(nodes["still"], Map)


def test_joins_on_names_pairs_times_and_bands():
    nodes = built("""
named: {box: join, in: [a, a], on: k}
pairs: {box: join, in: [a, b], on: {k: key}, how: left}
near: {box: join, in: [a, b], within: 5 seconds}
far: {box: join, in: [a, b], band: {left: x, right: z, low: -3}}
later: {box: join, in: [a, b], band: {left: ts, right: at, low: 0s, high: 1 hour}}
""")
    assert nodes["named"].keys == (("k", "k_right"),)
    assert nodes["pairs"].keys == (("k", "key"),)
    assert (nodes["near"].band.low, nodes["near"].band.high) == (-5_000_000, 5_000_000)
    assert (nodes["far"].band.low, nodes["far"].band.high) == (-3, None)
    assert (nodes["later"].band.low, nodes["later"].band.high) == (0, 3_600_000_000)


def test_a_split_has_a_way_out_for_each_route():
    nodes = built("""
s: {box: split, in: a, routes: {big: x > 9, small: x < 3, rest: else}}
both: {box: union, in: [s.big, s.rest]}
""")
    big, rest = nodes["both"].inputs
    assert isinstance(big, Split)
    assert (big.route, rest.route, len(big.predicates)) == (0, 2, 2)


def test_keys_may_be_computed():
    node = built("h: {box: aggregate, in: a, by: {hour: \"date_trunc('HOUR', ts)\", k: k}, functions: {n: count(*)}}")[
        "h"
    ]
    assert node.schema.names == ("hour", "k", "n")


def test_a_source_may_be_narrowed_to_some_sites():
    node = built("here: {box: source, stream: a, origins: hq}")["here"]
    assert isinstance(node, Source)
    assert node.origins == ("hq",)


BIG = {
    "big": {
        "parameters": {"at_least": None, "column": "x"},
        "flow": {"f": {"box": "filter", "in": "input", "where": "${column} >= ${at_least}"}},
    }
}


def test_a_superbox_is_its_body_with_the_parameters_filled_in():
    nodes = built("plain: {box: filter, in: a, where: x >= 5}\nused: {box: big, in: a, with: {at_least: 5}}", BIG)
    assert nodes["used"] == Superbox(nodes["plain"], (A,), "big", (("at_least", "5"), ("column", "x")))


def test_a_parameter_alone_keeps_its_type():
    boxes = {"first": {"parameters": ["k"], "flow": {"t": {"box": "top", "in": "input", "k": "${k}", "by": "x"}}}}
    used = built("t: {box: first, in: a, with: {k: 3}}", boxes)["t"]
    assert isinstance(used, Superbox)
    assert used.body == Top(A, 3, (("x", True),))


def test_superboxes_may_use_superboxes_and_several_inputs():
    boxes = BIG | {
        "both": {
            "inputs": ["left", "right"],
            "flow": {
                "l": {"box": "big", "in": "left", "with": {"at_least": 1}},
                "u": {"box": "union", "in": ["l", "right"]},
            },
        }
    }
    node = built("n: {box: both, in: [a, a]}", boxes)["n"]
    assert isinstance(node, Superbox)
    assert isinstance(node.body, Union)


def test_parameters_do_not_reach_names_of_boxes():
    boxes = {"evil": {"parameters": ["p"], "flow": {"f": {"box": "distinct", "in": "${p}"}}}}
    assert refused("x: {box: evil, in: a, with: {p: b}}", boxes) == [
        ("boxes.evil.flow.f.in", "unknown stream or box '${p}'.")
    ]


def test_all_problems_are_found_and_none_twice():
    found = refused("""
bad: {box: filter, in: a, where: w > 1}
after: {box: filter, in: bad, where: w > 1}
typo: {box: filtr, in: a}
loop: {box: distinct, in: pool}
pool: {box: distinct, in: loop}
behind: {box: distinct, in: pool}
good: {box: distinct, in: a}
""")
    assert found == [
        ("flow.typo.box", "unknown kind of box 'filtr'."),
        ("flow.loop.in", "the boxes read one another in a circle: loop -> pool -> loop."),
        ("flow.bad.where", "unknown column 'w'."),
    ]


def test_two_circles_are_two_problems():
    found = refused("a1: {box: distinct, in: a2}\na2: {box: distinct, in: a1}\nb1: {box: union, in: [b1, a1]}")
    assert [what for _, what in found] == [
        "the boxes read one another in a circle: a1 -> a2 -> a1.",
        "the boxes read one another in a circle: b1 -> b1.",
    ]


def test_a_long_chain_of_boxes_is_no_trouble():
    lines = ["b0: {box: filter, in: a, where: x > 0}"]
    lines += [f"b{n}: {{box: filter, in: b{n - 1}, where: x > {n}}}" for n in range(1, 2_000)]
    assert len(built("\n".join(reversed(lines)))) == 2_000

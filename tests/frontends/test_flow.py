"""Boxes and arrows: what each kind of box means, and that every graph can be written and read back."""

import pytest
import yaml
from hypothesis import given, settings

from tests.algebra.every import every_kind
from tests.frontends.graphs import SEEN, SPAN, A, B, graphs
from tradewind.algebra.expressions.tree import Column
from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.core import Map, Source, Top, Union
from tradewind.algebra.operators.derived import Split, Superbox
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow
from tradewind.errors import DeploymentError
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.yaml import read_yaml
from tradewind.frontends.flow.kinds import BOXES, WRITTEN_AS
from tradewind.frontends.flow.read import read_flow, read_graph
from tradewind.frontends.flow.superboxes import SuperboxKeys
from tradewind.frontends.flow.write import catalog_of, write_flow
from tradewind.frontends.fluent import Stream
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


def test_combines_take_their_windows_over_the_time_of_the_partials():
    nodes = built("""
minutes: {box: partial, in: a, by: k, functions: {n: count(*), p: "approx_percentile(y, 0.9)"}, window: 1 minute}
hours: {box: combine, in: minutes, by: K, functions: {p: approx_percentile(0.9)}, window: 1 hour}
days: {box: combine, in: hours, window: {size: 2 days, step: 1 day, on: TS}, functions: {p: approx_percentile(0.9)}}
keys: {box: combine, in: minutes, by: window, functions: {n: count}}
""")
    assert nodes["hours"].window == TimeWindow("ts", 3_600_000_000, 3_600_000_000)
    assert nodes["days"].window == TimeWindow("ts", 172_800_000_000, 86_400_000_000)
    assert nodes["hours"].schema.names == ("k", "window", "p")
    assert nodes["keys"].schema.names == ("window", "n")
    assert nodes["keys"].window is None


def test_combines_that_do_not_fit():
    minutes = "m: {box: partial, in: a, by: k, functions: {n: count(*)}, window: 1 minute}\n"
    plain = "m: {box: partial, in: a, by: k, functions: {n: count(*)}}\n"
    uneven = "windows of 90 seconds of ts are not made of whole windows of 1 minute of ts."
    assert refused(minutes + "c: {box: combine, in: m, functions: {n: count}, window: 90s}") == [("flow.c", uneven)]
    assert refused(minutes + "c: {box: combine, in: m, functions: {n: count}, window: {session: 90s}}") == [
        ("flow.c", "partials cannot be combined in windows of sessions of ts with gaps up to 90 seconds.")
    ]
    assert refused(minutes + "c: {box: combine, in: m, functions: {n: count}, window: {size: 2 minutes, on: x}}") == [
        ("flow.c.window.on", "unknown column 'x'.")
    ]
    assert refused(plain + "c: {box: combine, in: m, functions: {n: count}, window: 2 minutes}") == [
        ("flow.c.window", "it is not known which windows the partials are in.")
    ]
    assert refused(minutes + "c: {box: combine, in: m, by: x, functions: {n: count}}") == [
        ("flow.c.by", "unknown column 'x'.")
    ]


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
after: {box: join, in: [a, b], within: [-1 second, 5 seconds]}
far: {box: join, in: [a, b], band: {left: x, right: z, low: -3}}
later: {box: join, in: [a, b], band: {left: ts, right: at, low: 0s, high: 1 hour}}
""")
    assert nodes["named"].keys == (("k", "k_right"),)
    assert nodes["pairs"].keys == (("k", "key"),)
    assert (nodes["near"].band.low, nodes["near"].band.high) == (-5_000_000, 5_000_000)
    assert (nodes["after"].band.low, nodes["after"].band.high) == (-1_000_000, 5_000_000)
    assert (nodes["far"].band.low, nodes["far"].band.high) == (-3, None)
    assert (nodes["later"].band.low, nodes["later"].band.high) == (0, 3_600_000_000)


@pytest.mark.parametrize(
    ("within", "what"),
    [
        ("[1 second]", "'within' is a length of time or two, not 1."),
        ("[5 seconds, 1 second]", "'within' ends before it begins."),
        ("[0, 5]", "a length of time is wanted here."),
        ("-5 seconds", "a length of time must be longer than nothing here."),
        ("", "'within' is empty."),
    ],
)
def test_spans_that_are_none(within, what):
    assert refused(f"j: {{box: join, in: [a, b], within: {within}}}") == [("flow.j.within", what)]


def test_white_space_around_a_statement_survives():
    table = CATALOG.tables["seen"]
    graph = Graph.of(
        r=Read(A, table, "  SELECT n FROM seen WHERE k = :k\n"),
        u=Update(A, table, " DELETE FROM seen WHERE k = :k \n", (("k", Column("k")),)),
    )
    assert read_graph(write_flow(graph), catalog_of(graph)) == graph
    written = yaml.safe_dump(write_flow(graph), sort_keys=False)
    assert read_graph(read_yaml(written).data, catalog_of(graph)) == graph


def test_a_statement_below_a_line_is_the_one_that_python_gives():
    nodes = built("r:\n  box: read\n  in: a\n  table: seen\n  sql: |\n    SELECT n FROM seen WHERE k = :k\n")
    asked = Stream.named("a", CATALOG).read("seen", "\n    SELECT n FROM seen WHERE k = :k\n")
    assert nodes["r"] == asked.operator


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


def test_parameters_reach_columns_named_like_keys():
    boxes = {"m": {"parameters": ["p"], "flow": {"f": {"box": "map", "in": "input", "columns": {"at": "${p} + 1"}}}}}
    node = built("x: {box: m, in: a, with: {p: x}}", boxes)["x"]
    assert node.body == built("y: {box: map, in: a, columns: {at: x + 1}}")["y"]


def body(flow, **keys):
    return {"s": {"flow": read_yaml(flow).data, **keys}}


@pytest.mark.parametrize(
    ("boxes", "problems"),
    [
        (body("f: {box: distinct, in: u}"), [("flow.f.in", "unknown stream or box 'u'.")]),
        (body("f: {box: distinct, in: input}", inputs=[]), [
            ("inputs", "a superbox reads at least one input."), ("flow.f.in", "unknown stream or box 'input'.")]),
        (body("f: {box: distinct, in: u}", inputs=["u", "u"]), [("inputs.1", "two inputs are named 'u'.")]),
        (body("f: {box: distinct, in: a}", inputs=["*"]), [("inputs.0", "'*' cannot be the name of an input.")]),
        (body("f: {box: distinct, in: input}", parameters=["*"]), [
            ("parameters.*", "'*' cannot be the name of a parameter.")]),
        (body("f: {box: resample, in: input, at: nope, values: x}"), [("flow.f.at", "unknown stream or box 'nope'.")]),
        (body("f: {box: waitfor, in: input, signal: c, where: x > 1, timeout: 1s}"), [
            ("flow.f.signal", "unknown stream or box 'c'.")]),
        (body("f: {box: filtr, in: input}"), [("flow.f.box", "unknown kind of box 'filtr'.")]),
        (body("f: {box: [], in: input}"), [("flow.f", "a box says what it does under `box`.")]),
        (body("f: 3"), [("flow.f", "a box is a mapping, not 3.")]),
        (body("f: {box: filter, in: input, wher: x > 1}"), [("flow.f.wher", "unknown key 'wher'.")]),
        (body("f: {box: filter, in: input}"), [("flow.f", "'where' is missing.")]),
        (body("f: {box: top, in: input, k: three, by: x}"), [
            ("flow.f.k", "a whole number is wanted here, not 'three'.")]),
        (body('f: {box: filter, in: input, where: "x > ${w}"}'), [("flow.f.where", "unknown parameter 'w'.")]),
        (body('f: {box: map, in: input, columns: {y: "${}"}}'), [("flow.f.columns.y", "unknown parameter ''.")]),
        (body("f: {box: distinct, in: input}", output="g"), [("output", "unknown box 'g'.")]),
        (body("f: {box: distinct, in: input}", output="f.x"), [
            ("output", "'f' is not a split and has no route 'x'.")]),
        (body("f: {box: split, in: input, routes: {r: x > 1}}"), [("flow.f", "the result 'f' is a split.")]),
        (body("f: {box: split, in: input, routes: {r: x > 1}}\ng: {box: distinct, in: f.q}"), [
            ("flow.g.in", "unknown route 'f.q'.")]),
        (body("f: {box: distinct, in: g}\ng: {box: distinct, in: f}"), [
            ("flow.f.in", "the boxes read one another in a circle: f -> g -> f.")]),
        (body("a: {box: distinct, in: input}"), [("flow.a", "a stream or shared box is named 'a' already.")]),
        (body("f: {box: s, in: input}"), [("flow.f", "a superbox contains itself: s -> s.")]),
        (body("f: {box: big, in: input}") | BIG, [("flow.f.with", "the parameter 'at_least' of 'big' has no value.")]),
        (body("f: {box: big, in: [input, a], with: {at_least: 1}}") | BIG, [
            ("flow.f.in", "'big' reads 1 inputs, not 2.")]),
    ],
)  # fmt: skip
def test_superboxes_that_nobody_uses_are_checked(boxes, problems):
    expected = [(f"boxes.s.{where}", what) for where, what in problems]
    assert refused("t: {box: distinct, in: a}", boxes) == expected
    assert refused("t: {box: s, in: a}", boxes) == expected


def test_values_that_wait_for_parameters_are_not_judged():
    flow = """
t: {box: top, in: input, k: "${k}", by: "${by}"}
j: {box: join, in: [t, b], on: "${by}", within: ["${low}", "${high}"], how: "${how}"}
w: {box: aggregate, in: j, window: "${size}", functions: {n: count(*)}}
"""
    parameters = ["k", "by", "low", "high", "how", "size"]
    assert built("t: {box: distinct, in: a}", body(flow, parameters=parameters))


def test_superboxes_within_superboxes_have_an_end():
    boxes = {f"b{n}": {"flow": {"f": {"box": f"b{n + 1}", "in": "input"}}} for n in range(300)}
    boxes["b300"] = {"flow": {"f": {"box": "distinct", "in": "input"}}}
    assert refused("x: {box: b0, in: a}", boxes) == [("boxes.b49.flow.f", "superboxes are nested more than 50 deep.")]
    circle = {f"b{n}": {"flow": {"f": {"box": f"b{(n + 1) % 300}", "in": "input"}}} for n in range(300)}
    [(where, what)] = refused("x: {box: b0, in: a}", circle)
    assert where == "boxes.b299.flow.f"
    assert what.endswith("b5 -> … -> b295 -> b296 -> b297 -> b298 -> b299 -> b0.")


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

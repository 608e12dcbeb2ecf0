"""Labels, trees of text, and SVG."""

import re
from xml.etree import ElementTree as ET

import pytest

from tests.algebra.every import MINUTE, NEWS, TICKS, condition, every_kind, functions
from tests.algebra.geometry import apart, inside
from tradewind.algebra.drawing.labels import label
from tradewind.algebra.drawing.layout import Rect
from tradewind.algebra.drawing.scene import scene_of
from tradewind.algebra.drawing.svg import draw_svg
from tradewind.algebra.drawing.text import draw_text
from tradewind.algebra.graph import KINDS, Graph
from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Map, Top, Union
from tradewind.algebra.operators.derived import Superbox
from tradewind.algebra.windows import TimeWindow

SVG = "{http://www.w3.org/2000/svg}"
BIG = Filter(TICKS, condition("size > 10", TICKS.schema))
SMALL = Filter(TICKS, condition("size < 3", TICKS.schema))
BARS = Aggregate(BIG, ("ticker",), functions(BIG, n="count(*)"), TimeWindow("ts", MINUTE, MINUTE))
TOP = Top(BARS, 10, (("n", True),), ("window",))
TICKS_LINE = "stream ticks at ams, fra, late by 5 seconds, revised"


def above(node, limit):
    return Filter(node, condition(f"price > {limit}", node.schema))


# --- labels -------------------------------------------------------------------------------------------------------

LABELS = {
    "source": TICKS_LINE,
    "filter": "filter size > 10 AND ticker <> 'it\\'s' OR price IS NULL",
    "connectionpoint": "connection point big ones, keeps 1 hour or 1000 rows",
    "top": "top 10 by n DESC, ticker per window, place in place",
    "partial": "partial aggregate by ticker per 1 minute of ts: n = count(*), s = sum(price)",
    "combine": "combine per 3 minutes every 2 minutes of ts from 1 minute: s = sum",
    "merge": "merge by ticker, window: n = count(*), s = sum",
    "finish": "finish n = count(*), s = sum",
    "join": "left join on ticker = topic and -1 minute ≤ at - ts ≤ 5 minutes",
    "union": "union of 2",
    "split": "split way 1 of 3: price > 1.5D",
    "waitfor": "wait up to 1 minute for ticker = topic",
    "read": "read seen: SELECT n FROM seen WHERE ticker = :ticker, else NULLs",
    "update": "update seen: UPDATE seen SET n = n + 1 WHERE ticker = :ticker, report ts, twice = price * 2.0D",
    "map": "map ts, cents = CAST(price * 100.0D AS BIGINT)",
    "superbox": "box in_cents(factor=100)",
    "order": "order by ts with slack 7",
    "resample": "resample price every 10 seconds per ticker, linear, gaps up to 1 minute",
    "sample": "sample 12.5 % by ticker, seed 3",
    "distinct": "distinct",
}


@pytest.mark.parametrize(("kind", "wanted"), LABELS.items())
def test_labels(kind, wanted):
    assert label(next(node for node in every_kind() if node.kind == kind)) == wanted


def test_labels_of_aggregates():
    assert label(BARS) == "aggregate by ticker per 1 minute of ts: n = count(*)"
    assert label(Aggregate(BIG, ("ticker",), ())) == "aggregate by ticker"
    assert label(Aggregate(BIG, (), functions(BIG, n="sum(size)"))) == "aggregate n = sum(size)"
    texts = [label(node) for node in every_kind() if node.kind == "aggregate"]
    assert "aggregate per sessions of ts with gaps up to 1 minute: d = delta(price)" in texts


def test_labels_of_maps():
    kept = tuple((name, condition(name, TICKS.schema)) for name in TICKS.schema.names)
    assert label(Map(TICKS, kept[:2])) == "keep ts, ticker"
    assert label(Map(TICKS, (*kept, ("two", condition("2", TICKS.schema))))) == "map *, two = 2"


def test_every_kind_has_a_label_of_its_own():
    for node in every_kind():
        assert not re.search(r"[A-Z][a-z]+\(|object at|<", label(node).replace("<>", "")), label(node)
    assert set(LABELS) | {"aggregate"} == set(KINDS)


# --- text ---------------------------------------------------------------------------------------------------------


def tree(text):
    return "\n".join(line[4:] for line in text.strip("\n").splitlines())


def test_a_chain():
    assert draw_text(TOP) == tree(f"""
    top 10 by n DESC per window
    └─ aggregate by ticker per 1 minute of ts: n = count(*)
       └─ filter size > 10
          └─ {TICKS_LINE}""")


def test_several_results_and_shared_parts():
    graph = Graph.of(top=TOP, bars=BARS, both=Union((SMALL, BIG)), small=SMALL, top_again=TOP)
    assert draw_text(graph) == tree(f"""
    top
    └─ top 10 by n DESC per window
       └─ aggregate by ticker per 1 minute of ts: n = count(*)  (1)
          └─ filter size > 10  (2)
             └─ {TICKS_LINE}
    bars
    └─ ↑ 1
    both
    └─ union of 2
       ├─ filter size < 3  (3)
       │  └─ ↑ ticks
       └─ ↑ 2
    small
    └─ ↑ 3
    top_again
    └─ ↑ top""")


def test_connection_points_are_called_by_name():
    point = ConnectionPoint(TICKS, "tap")
    graph = Graph.of(a=above(point, 1), b=above(point, 2))
    assert draw_text(graph) == tree(f"""
    a
    └─ filter price > 1.0D
       └─ connection point tap
          └─ {TICKS_LINE}
    b
    └─ filter price > 2.0D
       └─ ↑ tap""")


def test_superboxes_are_brackets():
    inner = Superbox(above(BIG, 2), (BIG,), "inner")
    outer = Superbox(above(inner, 3), (TICKS,), "outer", (("limit", "3"),))
    assert draw_text(above(outer, 4)) == tree(f"""
    filter price > 4.0D
    └─ ⟦ outer(limit=3)
       └─ filter price > 3.0D
          └─ ⟦ inner
             └─ filter price > 2.0D
                └─ ⟧ inner
                   └─ filter size > 10
                      └─ ⟧ outer
                         └─ {TICKS_LINE}""")


def test_notes_stand_behind_their_nodes():
    assert draw_text(BIG, note=lambda node: "hq" if node is BIG else "") == f"filter size > 10  · hq\n└─ {TICKS_LINE}"


def test_every_node_is_shown_once():
    graph = every_kind()
    lines = [line.strip("│├└─ ") for line in draw_text(graph).splitlines()]
    for node in graph:
        wanted = "⟦ in_cents(factor=100)" if isinstance(node, Superbox) else label(node)
        assert len([line for line in lines if re.fullmatch(re.escape(wanted) + r"(  \(\d+\))?", line)]) == 1, wanted


def test_graphs_deeper_than_the_stack():
    node = TICKS
    for number in range(1200):
        node = above(node, number)
    assert len(draw_text(node).splitlines()) == 1201


def test_news_without_readers_is_drawn_too():
    assert draw_text(Graph.of(news=NEWS)) == "news\n└─ stream news"


# --- SVG ----------------------------------------------------------------------------------------------------------


def rect_of(element) -> Rect:
    return Rect(*(float(element.get(key, "0")) for key in ("x", "y", "width", "height")))


def groups(root, class_):
    return [group for group in root.iter(f"{SVG}g") if group.get("class") == class_]


def words_of(group) -> str:
    return "".join(span.text or "" for span in group.iter(f"{SVG}tspan")).replace(" ", "")


GRAPHS = [
    Graph.of(result=TICKS),
    Graph.of(top=TOP, bars=BARS),
    every_kind(),
    Graph.of(boxed=Superbox(above(BIG, 2), (TICKS,), "outer", (("limit", "3"),))),
]


@pytest.mark.parametrize("graph", GRAPHS)
def test_svg_shows_everything_and_nothing_overlaps(graph):
    root = ET.fromstring(draw_svg(graph))
    drawn = {
        group.get("id"): rect_of(next(group.iter(f"{SVG}rect")))
        for group in groups(root, "box") + groups(root, "result")
    }
    nodes = [node for node in graph if not isinstance(node, Superbox)]
    assert len(groups(root, "box")) == len(nodes)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    for node in nodes:
        assert any((title or "").startswith(f"{label(node)}\n{node.schema}") for title in titles)
    shown = [words_of(group) for group in groups(root, "box")]
    for node in nodes:
        whole = label(node).replace(" ", "")
        assert any(whole == text or (text.endswith("…") and whole.startswith(text[:-1])) for text in shown)
    names = ["".join(text.itertext()) for group in groups(root, "result") for text in group.iter(f"{SVG}text")]
    assert names == list(graph.names)
    rects = list(drawn.values())
    assert all(apart(a, b) for i, a in enumerate(rects) for b in rects[:i])
    width, height = (float(root.get(key, "0")) for key in ("width", "height"))
    assert all(rect.right < width and rect.bottom < height for rect in rects)
    for group in groups(root, "arrow"):
        check_arrow(group, drawn)
    assert len(groups(root, "arrow")) == len(set(scene_of(graph).arrows))


def check_arrow(group, drawn):
    line, head = (path.get("d", "") for path in group.iter(f"{SVG}path"))
    x0, y0 = map(float, re.match(r"M([\d.]+) ([\d.]+)", line).groups())  # type: ignore[union-attr]
    x1, y1 = map(float, re.match(r"M([\d.]+) ([\d.]+)", head).groups())  # type: ignore[union-attr]
    source, target = drawn[group.get("data-from")], drawn[group.get("data-to")]
    assert x0 == pytest.approx(source.right, abs=0.2)
    assert x1 == pytest.approx(target.x, abs=0.2)
    assert source.y <= y0 <= source.bottom
    assert target.y <= y1 <= target.bottom


def test_svg_draws_superboxes_as_frames():
    inner = Superbox(above(BIG, 2), (BIG,), "inner")
    outer = Superbox(above(inner, 3), (TICKS,), "outer", (("limit", "3"),))
    root = ET.fromstring(draw_svg(above(outer, 4)))
    frames = {"".join(text.itertext()): group for group in groups(root, "frame") for text in group.iter(f"{SVG}text")}
    assert set(frames) == {"outer(limit=3)", "inner"}
    around, within = (rect_of(next(frames[name].iter(f"{SVG}rect"))) for name in ("outer(limit=3)", "inner"))
    assert inside(within, around)


def test_svg_survives_any_text():
    odd = Filter(TICKS, condition("ticker = '<&\"\\'\x00\ud800]]>' AND ticker <> '</svg><script>'", TICKS.schema))
    root = ET.fromstring(draw_svg(Graph((('<"&>\x07', odd),)), note=lambda _: "<b>&"))
    assert not list(root.iter(f"{SVG}script"))
    assert "<&" in "".join(root.itertext())


def test_svg_is_always_the_same():
    assert draw_svg(every_kind()) == draw_svg(every_kind())


def test_notes_are_drawn():
    root = ET.fromstring(draw_svg(BIG, note=lambda node: f"at {node.kind}"))
    assert [words_of(group) for group in groups(root, "box")][1].endswith("atfilter")

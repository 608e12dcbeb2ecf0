"""Layouts: boxes never overlap, arrows go right, frames hold their own."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algebra.geometry import apart, check_paths, inside
from tradewind.algebra.drawing.layout import Edge, Rect, Size, layered
from tradewind.algebra.drawing.nesting import Frame, nested
from tradewind.algebra.drawing.wrapping import text_width, wrap
from tradewind.errors import InternalError


def crosses(points, box: Rect) -> bool:
    """Whether a level piece of an arrow runs through a box (bends are only in the gaps between layers)."""
    pieces = pairwise(points)
    return any(
        y0 == pytest.approx(y1) and box.y < y0 < box.bottom and x0 < box.right - 1e-6 and x1 > box.x + 1e-6
        for (x0, y0), (x1, y1) in pieces
    )


@st.composite
def dags(draw):
    count = draw(st.integers(1, 18))
    names = [f"n{i}" for i in range(count)]
    sizes = {name: Size(draw(st.integers(20, 200)), draw(st.integers(10, 120))) for name in names}
    pairs = [(names[i], names[j]) for j in range(count) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=30)) if pairs else []
    return sizes, list(dict.fromkeys(edges))


@given(dags())
def test_boxes_never_overlap_and_arrows_go_right(dag):
    sizes, edges = dag
    found = layered(sizes, [Edge(a, b) for a, b in edges])
    boxes = list(found.boxes.values())
    assert all(apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert {name: Size(box.width, box.height) for name, box in found.boxes.items()} == sizes
    assert all(box.x >= 0 and box.right <= found.width + 1e-6 for box in boxes)
    assert all(box.y >= -1e-6 and box.bottom <= found.height + 1e-6 for box in boxes)
    paths = {(edge.source, edge.target): points for edge, points in found.paths.items()}
    assert set(paths) == set(edges)
    check_paths(found.boxes, paths)
    for (source, target), points in paths.items():
        assert not any(crosses(points, box) for name, box in found.boxes.items() if name not in (source, target))
    assert layered(sizes, [Edge(a, b) for a, b in edges]) == found


@given(dags(), st.data())
def test_frames_hold_their_boxes_and_no_others(dag, data):
    sizes, edges = dag
    names = list(sizes)
    frames = [Frame("f1", None, 60), Frame("f2", "f1", 10), Frame("f3", None, 10)]
    homes = data.draw(st.dictionaries(st.sampled_from(names), st.sampled_from(["f1", "f2", "f3"])))
    found = nested(sizes, edges, frames, homes)
    boxes = list(found.boxes.values())
    assert all(apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    parents = {"f1": (), "f2": ("f1",), "f3": ()}
    for name, rect in found.frames.items():
        for box, place in found.boxes.items():
            home = homes.get(box)
            belongs = home is not None and name in (home, *parents[home])
            assert inside(place, rect) if belongs else apart(place, rect)
    assert set(found.paths) == set(edges)
    check_paths(found.boxes, found.paths)


def test_frames_that_can_stand_alone_are_kept():
    sizes = {name: Size(50, 20) for name in "abcd"}
    chain = [("a", "b"), ("b", "c"), ("c", "d")]
    frame = Frame("f", None, 10)
    assert set(nested(sizes, chain, [frame], {"b": "f", "c": "f"}).frames) == {"f"}
    assert not nested(sizes, chain, [frame], {"a": "f", "c": "f"}).frames
    assert not nested(sizes, chain, [frame], {}).frames


def test_a_cycle_is_refused():
    with pytest.raises(InternalError, match="cycle"):
        layered({"a": Size(1, 1), "b": Size(1, 1)}, [Edge("a", "b"), Edge("b", "a")])


def test_a_chain_is_straight_and_an_uncrossed_graph_stays_uncrossed():
    sizes = {name: Size(50, 20) for name in "abcdef"}
    chain = layered(sizes, [Edge(a, b) for a, b in ("ab", "bc", "cd", "de", "ef")])
    assert len({box.y for box in chain.boxes.values()}) == 1
    ladder = layered(sizes, [Edge(a, b) for a, b in ("ad", "be", "cf")])
    assert [name for name, _ in sorted(ladder.boxes.items(), key=lambda item: (item[1].x, item[1].y))] == list("abcdef")


@given(st.text(max_size=200), st.integers(40, 300), st.integers(1, 6))
def test_wrapped_lines_fit_and_lose_nothing(text, width, lines):
    found = wrap(text, width, 12, lines)
    assert len(found) <= lines
    assert all(text_width(line, 12) <= width or len(line) <= 2 for line in found)
    whole = "".join(text.split())
    joined = "".join("".join(found).split())
    assert joined == whole or (joined.endswith("…") and whole.startswith(joined[:-1]))

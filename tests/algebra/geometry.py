"""Checks on places in a drawing."""

from itertools import pairwise

import pytest

from tradewind.algebra.drawing.layout import Rect


def apart(a: Rect, b: Rect) -> bool:
    slack = 1e-6
    across = a.right <= b.x + slack or b.right <= a.x + slack
    return across or a.bottom <= b.y + slack or b.bottom <= a.y + slack


def inside(a: Rect, b: Rect) -> bool:
    return b.x < a.x and b.y < a.y and a.right < b.right and a.bottom < b.bottom


def check_paths(boxes, paths):
    for (source, target), points in paths.items():
        (x0, y0), (x1, y1) = points[0], points[-1]
        a, b = boxes[source], boxes[target]
        assert x0 == pytest.approx(a.right)
        assert x1 == pytest.approx(b.x)
        assert a.y <= y0 <= a.bottom
        assert b.y <= y1 <= b.bottom
        assert x0 < x1
        assert all(p[0] < q[0] or p == pytest.approx(q) for p, q in pairwise(points))

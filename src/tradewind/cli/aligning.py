"""Numbers and texts in columns, as people read them."""

from __future__ import annotations

from collections.abc import Sequence


def amount(value: float) -> str:
    """A number with three figures, and thousands set apart.

    >>> amount(1234.6), amount(0.012345)
    ('1,235', '0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of texts with their columns one below the other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]

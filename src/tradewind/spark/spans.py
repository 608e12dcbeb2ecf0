"""What whole numbers can come out of a function, given what goes in: where nothing can run over, nothing is guarded."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tradewind.algebra.types import DataType
from tradewind.spark.terms import Span, Term, type_span, within

_COUNT = (0, 2**31 - 1)
_KNOWN: dict[str, Span] = {
    "hour": (0, 23), "minute": (0, 59), "second": (0, 59), "quarter": (1, 4), "month": (1, 12), "day": (1, 31),
    "dayofweek": (1, 7), "dayofyear": (1, 366), "length": _COUNT, "size": _COUNT, "instr": _COUNT,
    "crc32": (0, 2**32 - 1), "unix_seconds": (-(2**63) // 10**6, 2**63 // 10**6),
    "unix_millis": (-(2**63) // 1000, 2**63 // 1000),
}  # fmt: skip
_CHOICES = ("coalesce", "greatest", "least", "nullif")


def span_of(function: str, arguments: Sequence[Term], result: DataType) -> Span | None:
    """The span of a call, where its type is an integer's."""
    limits = type_span(result)
    spans = [argument.span for argument in arguments]
    if limits is None or function in _KNOWN:
        return _KNOWN.get(function)
    if function == "if":
        return hull(spans[1:])
    if function in _CHOICES:
        return hull(spans)
    exact = exact_span(function, spans)
    # Where it runs over, NULL comes out.
    return exact if within(exact, result) else limits


def exact_span(function: str, spans: Sequence[Span | None]) -> Span | None:
    """What exact arithmetic can give, whatever the result's type; None where that is not worked out."""
    known = [span for span in spans if span is not None]
    if function not in _EXACT or len(known) < len(spans):
        return None
    return _EXACT[function](*known)


def hull(spans: Sequence[Span | None]) -> Span | None:
    """From the least to the greatest of several spans."""
    known = [span for span in spans if span is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(spans) else None


def _product(a: Span, b: Span) -> Span:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _remainder(a: Span, b: Span) -> Span:
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return (-most if a[0] < 0 else 0, most if a[1] > 0 else 0)


def _positive_remainder(_: Span, b: Span) -> Span:
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return (-most if b[0] < 0 else 0, most)


_EXACT: dict[str, Callable[..., Span]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _product,
    "negative": lambda a: (-a[1], -a[0]),
    "abs": lambda a: (0, max(abs(a[0]), abs(a[1]))),
    "%": _remainder,
    "pmod": _positive_remainder,
    "floor": lambda a: a,
    "ceil": lambda a: a,
}

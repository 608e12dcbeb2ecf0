"""A plan as a tree of sites in the terminal: from where answers are delivered outwards, with what each site sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tradewind.algebra.operators.aggregation import WINDOW, Combine, Partial
from tradewind.placement.choices import Content
from tradewind.placement.map_flows import human
from tradewind.placement.plan import Hop
from tradewind.placement.report import Report

_WIDEST = 100


def picture(report: Report) -> str:
    """The sites of a plan: what arises, works and is delivered there, below it the sites that send to it, and at each
    of these the channels that go there, with bytes per second.
    """
    drawn: set[int] = set()
    sinks = dict.fromkeys(goal.site for goal in report.plan.goals)
    lines = [line for sink in sinks for line in _site(report, sink, None, drawn)]
    return "\n".join(line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…" for line in lines)


def _site(report: Report, site: int, towards: int | None, drawn: set[int]) -> Iterator[str]:
    """A site and all that feeds it; of one that was drawn before, only what it sends on."""
    place = report.network.places[site]
    head = place.name if place.region is None else f"{place.name} ({place.region})"
    sent = [] if towards is None else _sent(report, site, towards)
    if towards is not None:
        total = sum(hop.bytes_per_second for hop in sent)
        head += f" ══ {human(total, 'B/s')} ══▶ {report.network.name(towards)}"
    yield head
    again = site in drawn
    drawn.add(site)
    feeders = [] if again else _feeders(report, site)
    bar = "│  " if feeders else "   "
    yield from () if again else (bar + text for text in _work(report, site))
    yield from (f"{bar}▸ {human(h.bytes_per_second, 'B/s'):>9}  {_said(report.contents[h.content])}" for h in sent)
    for number, feeder in enumerate(feeders):
        first, rest = ("└─ ", "   ") if number == len(feeders) - 1 else ("├─ ", "│  ")
        for line_number, line in enumerate(_site(report, feeder, site, drawn)):
            yield (rest if line_number else first) + line


def _feeders(report: Report, site: int) -> list[int]:
    network = report.network
    return sorted({int(network.start[hop.link]) for hop in report.plan.hops if network.end[hop.link] == site})


def _sent(report: Report, start: int, end: int) -> list[Hop]:
    """What goes from one site to another directly, the most first."""
    network = report.network
    found = [h for h in report.plan.hops if (network.start[h.link], network.end[h.link]) == (start, end)]
    return sorted(found, key=lambda hop: (-hop.bytes_per_second, hop.content))


def _said(content: Content) -> str:
    """What a channel holds."""
    node = content.operator
    if isinstance(node, Partial | Combine):
        keys = ", ".join(key for key in node.keys if key != WINDOW)
        return f"{node.kind} by {keys}: {', '.join(call.function for _, call in node.functions)}"
    return content.label


def _work(report: Report, site: int) -> Iterator[str]:
    """What arises, works and is delivered at a site."""
    lines = [line for line in report.lines if line.site == report.network.name(site)]
    arises = [f"● {human(line.rows_per_second, 'rows/s')}" for line in lines if line.kind == "source"]
    kinds = Counter(line.kind for line in lines if line.kind != "source")
    works = [kind if count == 1 else f"{kind} ×{count}" for kind, count in kinds.items()]
    if arises or works:
        yield " → ".join([*arises, *([", ".join(works)] if works else [])])
    answers = [goal.query for goal in report.plan.goals if goal.site == site]
    if answers:
        yield f"◆ {', '.join(answers)}"

"""What crossed the links of a run, beside what was expected and what shipping everything would have taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tradewind.cli.aligning import aligned, amount

if TYPE_CHECKING:
    from tradewind.backbone.counting import Counted
    from tradewind.runtime.live import Live

Ends = tuple[str, str]


@dataclass(frozen=True)
class Flows:
    """The links of a plan: bytes per second as planned and if everything were shipped, and prices per gigabyte."""

    planned: Mapping[Ends, float] = field(default_factory=dict)
    shipped: Mapping[Ends, float] = field(default_factory=dict)
    usd_per_gb: Mapping[Ends, float] = field(default_factory=dict)

    @staticmethod
    def of(live: Live) -> Flows:
        """The links of a run; at one site there are none."""
        if live.planned is None:
            return Flows()
        report = live.planned.report
        network = report.network
        return Flows(
            {(link.start, link.end): link.bytes_per_second for link in live.planned.links()},
            {(link.start, link.end): link.bytes_per_second for link in report.links(report.chosen.shipped)},
            {
                (network.name(network.start[n]), network.name(network.end[n])): float(price)
                for n, price in enumerate(network.usd_per_gb)
            },
        )

    def links(
        self, counts: Mapping[Ends, Counted], predicted: Mapping[Ends, float], seconds: float
    ) -> list[dict[str, Any]]:
        """Every link that carried something or should have, as plain data: `predicted` bytes, while `seconds` of the
        streams went by.
        """
        found = []
        for ends in dict.fromkeys([*self.planned, *counts]):
            rate, counted = self.planned.get(ends, 0.0), counts.get(ends)
            price = self.usd_per_gb.get(ends, 0.0) / 1e9
            size = counted.bytes if counted else 0
            shipped, expected = self.shipped.get(ends, 0.0) * seconds, predicted.get(ends, 0.0)
            found.append({
                "from": ends[0], "to": ends[1], "bytes_per_second": rate, "usd_per_hour": rate * price * 3600,
                "bytes": size, "rows": counted.rows if counted else 0, "predicted_bytes": round(expected),
                "shipped_bytes": round(shipped), "usd": size * price, "predicted_usd": expected * price,
                "shipped_usd": shipped * price, "messages": counted.messages if counted else 0,
                "batches": counted.batches if counted else 0,
                "control_bytes": counted.control_bytes if counted else 0,
                "backlog_bytes": counted.backlog_bytes if counted else 0,
                "round_trip_ms": counted.round_trip_ms if counted else None,
            })  # fmt: skip
        return found


def table_of(links: Sequence[Mapping[str, Any]]) -> list[str]:
    """The links as lines of text, all of them added up in the last."""
    head = ("link", "bytes", "predicted", "everything shipped", "rows", "$")
    rows: list[tuple[str, ...]] = [head]
    rows.extend((f"{link['from']} → {link['to']}", *_cells([link])) for link in links)
    if len(links) > 1:
        rows.append(("all links", *_cells(links)))
    return aligned(rows)


def _cells(links: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    sums = {key: sum(link[key] for link in links) for key in ("bytes", "predicted_bytes", "shipped_bytes", "rows")}
    return (*(f"{total:,}" for total in sums.values()), amount(sum(link["usd"] for link in links)))

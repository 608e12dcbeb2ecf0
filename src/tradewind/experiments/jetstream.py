"""Figure 1 of the JetStream paper: the shape of a top-k query over a content delivery network, and when it is another.

The paper draws by hand what its planner should come to. Here the network and the query are declared in a deployment
file, the plan is made from it, and its shape is read off the plan, next to what the figure shows. Then capacities and
links are changed, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tradewind.experiments.result import Result
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.map_svg import draw_map
from tradewind.placement.planners import choose
from tradewind.placement.report import Line, Report
from tradewind.placement.workers import Share

SHOWS = "The shape of a top-k query over three datacenters, and other shapes where capacities are others."

FILE = "jetstream_figure_1.yaml"

PUBLISHED = (
    "sources count locally",
    "each source sends to the nearer of DC1 and DC2",
    "DC1 sums what it gets",
    "DC2, of weaker machines, splits its sum by domain over two of them",
    "DC3 splits the final sum by domain over three machines",
    "each of the three cuts its share to the top k",
    "a fourth machine merges them",
)


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum at a site: the machines that have a share of it, and the columns that tell the shares apart."""

    site: str
    workers: tuple[int, ...]
    by: tuple[str, ...]

    def __str__(self) -> str:
        if len(self.workers) == 1:
            return f"{self.site} sums on one machine"
        return f"{self.site} splits its sum by {', '.join(self.by)} over {len(self.workers)} machines"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the figure shows of a plan."""

    counted_at: tuple[str, ...]
    """The sites that count before they send."""
    sent_to: Mapping[str, str]
    """The first site that each of them sends to."""
    partial_sums: tuple[Sum, ...]
    final_sum: Sum
    cut_on: tuple[int, ...]
    """The machines that cut their share to the top k."""
    merged_on: int
    """The machine that merges what they leave."""
    usd_per_hour: float

    def words(self) -> tuple[str, ...]:
        """One sentence for each that the paper's figure shows."""
        near = {site: [one for one in self.sent_to if self.sent_to[one] == site] for site in self.sent_to.values()}
        sums = {one.site: one for one in (*self.partial_sums, self.final_sum)}
        return (
            f"{len(self.counted_at)} sources count locally",
            "; ".join(f"{', '.join(some)} → {site}" for site, some in sorted(near.items())),
            *(str(sums[site]) if site in sums else f"{site} sums nothing" for site in ("dc1", "dc2")),
            str(self.final_sum),
            f"{len(self.cut_on)} machines cut their shares" if self.cut_on else "nothing is cut before",
            f"machine {self.merged_on} merges them" if self.cut_on else f"machine {self.merged_on} cuts the whole",
        )


def declared() -> Deployment:
    """The network and the query of the figure."""
    return load((files("tradewind.experiments") / FILE).read_text(encoding="utf-8"), FILE)


def shape(report: Report) -> Shape:
    """The shape of a plan of the figure's query."""
    lines = {line.id: line for line in report.lines}
    counted = sorted((line for line in lines.values() if line.kind == "partial"), key=lambda line: line.site)
    final = next(line for line in lines.values() if line.kind == "merge")
    top = next(line for line in lines.values() if line.kind == "top")
    return Shape(
        tuple(line.site for line in counted if _reads_own_source(line, lines)),
        {link.start: link.end for link in report.links() if link.start in {line.site for line in counted}},
        tuple(sorted((_sum(line) for line in lines.values() if line.kind == "combine"), key=lambda one: one.site)),
        _sum(final),
        tuple(share.worker for share in top.shares if share.before),
        next(share.worker for share in top.shares if not share.before),
        report.chosen.cost,
    )


def _reads_own_source(line: Line, lines: Mapping[str, Line]) -> bool:
    return all(lines[one].kind == "source" and lines[one].site == line.site for one in line.inputs)


def _sum(line: Line) -> Sum:
    shares: tuple[Share, ...] = line.shares
    return Sum(line.site, tuple(share.worker for share in shares), shares[0].keys)


def as_declared(deployment: Deployment) -> Deployment:
    """Nothing is changed."""
    return deployment


def dc2_strong(deployment: Deployment) -> Deployment:
    """The machines of DC2 become as strong as those of DC1."""
    return _machines(deployment, "dc2", cores=8, workers=2)


def dc3_strong(deployment: Deployment) -> Deployment:
    """The machines of DC3 become twice as strong."""
    return _machines(deployment, "dc3", cores=24, workers=4)


def dc2_far(deployment: Deployment) -> Deployment:
    """DC2 is no longer the nearer one for any server: its links to them are exchanged for those of DC1."""
    ends = {"dc1": "dc2", "dc2": "dc1"}
    links = []
    for link in deployment.links:
        server, site = link.between
        moved = server in ("server-4", "server-5", "server-6")
        links.append(link.model_copy(update={"between": (server, ends[site])}) if moved else link)
    return replace(deployment, links=tuple(links))


def _machines(deployment: Deployment, site: str, *, cores: int, workers: int) -> Deployment:
    changed = deployment.sites[site].model_copy(update={"cores": cores, "workers": workers})
    return replace(deployment, sites={**deployment.sites, site: changed})


VARIED: Mapping[str, Callable[[Deployment], Deployment]] = {
    "as declared": as_declared,
    "DC2's machines as strong as DC1's": dc2_strong,
    "DC3's machines twice as strong": dc3_strong,
    "DC2 near to no server": dc2_far,
}


def planned(change: Callable[[Deployment], Deployment] = as_declared) -> Report:
    """The plan of the figure's query, with something changed."""
    return Report(choose(change(declared())))


def run(seeds: int, out: Path) -> Result:
    """Plan the figure and its variations, and draw the map; nothing is drawn by chance, so seeds do not matter."""
    reports = {name: planned(change) for name, change in VARIED.items()}
    shapes = {name: shape(report) for name, report in reports.items()}
    told = [one.words() for one in shapes.values()]
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "jetstream_figure_1.svg"
    picture.write_text(draw_map(reports["as declared"]), encoding="utf-8")
    costs = ", ".join(f"{name} {one.usd_per_hour:.2f}" for name, one in shapes.items())
    return Result(
        "JetStream, Figure 1: the k most popular domains",
        ("published", *shapes),
        tuple(zip(PUBLISHED, *told, strict=True)),
        (
            "Published: the first column, drawn by hand; the paper gives no figures, so the network's are ours.",
            f"Measured: the other columns. Dollars an hour: {costs}.",
        ),
        files=(picture,),
        data={"published": list(PUBLISHED), "shapes": {name: _data(one) for name, one in shapes.items()}},
    )


def _data(one: Shape) -> dict[str, Any]:
    return {
        "words": list(one.words()),
        "partial_sums": {each.site: len(each.workers) for each in one.partial_sums},
        "final_sum": {"site": one.final_sum.site, "workers": list(one.final_sum.workers), "by": list(one.final_sum.by)},
        "cut_on": list(one.cut_on),
        "merged_on": one.merged_on,
        "usd_per_hour": one.usd_per_hour,
    }

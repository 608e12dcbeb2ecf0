"""A plan to be read: operators with their sites, rates, queries and reasons, and what flows on every link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tradewind.algebra.drawing.labels import label
from tradewind.algebra.operators.base import walk
from tradewind.algebra.operators.core import Join
from tradewind.placement.choices import Content
from tradewind.placement.fusing import fused
from tradewind.placement.plan import Hop, Plan, Step, providers
from tradewind.placement.planners import Chosen
from tradewind.placement.workers import Share, over_workers

_UNITS = {"dollars": "$/h", "bytes": "bytes/s"}


@dataclass(frozen=True, slots=True)
class Line:
    """An operator of a plan: what it does, where, for whom, how much comes out, and why it is there."""

    id: str
    kind: str
    site: str
    inputs: tuple[str, ...]
    rows_per_second: float
    bytes_per_second: float
    queries: tuple[str, ...]
    label: str
    cores: float
    why: str
    residency: str
    shares: tuple[Share, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """What a plan sends over a link."""

    start: str
    end: str
    bytes_per_second: float
    usd_per_hour: float


class Report:
    """All that there is to say about a chosen plan."""

    def __init__(self, chosen: Chosen) -> None:
        self.chosen = chosen
        self.network = chosen.problem.network
        self.contents = chosen.problem.contents
        self.plan = fused(chosen.plan, self.network, self.contents)

    @cached_property
    def _providers(self) -> Mapping[tuple[str, int], Step | Hop | None]:
        origins = {key: content.origins for key, content in self.contents.items() if content.origins}
        return providers(self.plan, self.network, origins)

    @cached_property
    def _steps(self) -> list[Step]:
        """All steps, inputs first."""
        order = {place: number for number, place in enumerate(self._providers)}
        return sorted(self.plan.steps, key=lambda step: order.get((step.output, step.site), len(order)))

    @cached_property
    def _sources(self) -> list[tuple[str, int]]:
        """The base streams that are read, each with the site where it arises."""
        read = {self.made_at(key, step.site) for step in self.plan.steps for key in step.inputs}
        read |= {self.made_at(goal.content, goal.site) for goal in self.plan.goals}
        return sorted(place for place in read if self._providers.get(place, place) is None)

    def made_at(self, key: str, site: int) -> tuple[str, int]:
        """Where the content that is to be had at a site is made."""
        provider = self._providers.get((key, site))
        while isinstance(provider, Hop):
            site = int(self.network.start[provider.link])
            provider = self._providers.get((key, site))
        return key, site

    @cached_property
    def ids(self) -> dict[tuple[str, int], str]:
        """A name for each operator, by what it makes and where."""
        found: dict[tuple[str, int], str] = {}
        counts: dict[str, int] = {}
        kinds = [(place, "source") for place in self._sources]
        kinds += [((step.output, step.site), step.kind) for step in self._steps]
        for place, kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
            found.setdefault(place, f"{kind}-{counts[kind]}")
        return found

    @cached_property
    def lines(self) -> list[Line]:
        """Every operator once, inputs first; streams where they arise are operators too."""
        found = [self._source(key, site) for key, site in self._sources]
        shares = self._shares
        return found + [self._line(step, shares.get(step, ())) for step in self._steps]

    @cached_property
    def _shares(self) -> dict[Step, tuple[Share, ...]]:
        found: dict[Step, list[Share]] = {}
        for number, place in enumerate(self.network.places):
            for share in over_workers(place, [step for step in self._steps if step.site == number]):
                found.setdefault(share.step, []).append(share)
        return {step: tuple(some) for step, some in found.items()}

    def _source(self, key: str, site: int) -> Line:
        content = self.contents[key]
        return Line(
            self.ids[key, site], "source", self.network.name(site), (), content.rows_per_second,
            content.bytes_per_second, self._readers(key, site), content.label, 0.0, "it arises here",
            self._told(content),
        )  # fmt: skip

    def _line(self, step: Step, shares: tuple[Share, ...]) -> Line:
        content = self.contents[step.output]
        inputs = tuple(self.ids[self.made_at(key, step.site)] for key in step.inputs)
        text = _said(step) or content.label
        return Line(
            self.ids[step.output, step.site], step.kind, self.network.name(step.site), inputs,
            content.rows_per_second, content.bytes_per_second, self._readers(step.output, step.site), text,
            step.cores, self.why(step), self._told(content), shares,
        )  # fmt: skip

    def _told(self, content: Content) -> str:
        return self.chosen.problem.residency.told(content.operator) if content.operator is not None else ""

    def _readers(self, key: str, site: int) -> tuple[str, ...]:
        """The queries whose answers rest on a content made at a site."""
        return tuple(sorted(self._queries.get((key, site), ())))

    @cached_property
    def _queries(self) -> dict[tuple[str, int], set[str]]:
        found: dict[tuple[str, int], set[str]] = {}
        by_place = {(step.output, step.site): step for step in self.plan.steps}
        for goal in self.plan.goals:
            waiting = [self.made_at(goal.content, goal.site)]
            while waiting:
                place = waiting.pop()
                if goal.query in found.setdefault(place, set()):
                    continue
                found[place].add(goal.query)
                step = by_place.get(place)
                if step is not None:
                    waiting.extend(self.made_at(key, step.site) for key in step.inputs)
        return found

    def why(self, step: Step) -> str:
        """Why a step is where it is: what it would cost, alone, at the next best site."""
        objective = self.chosen.problem.deployment.objective
        if objective not in _UNITS:
            return f"found by search for {objective}"
        prices = self._elsewhere(step)
        here = prices[step.site]
        others = prices.copy()
        others[step.site] = np.inf
        best = int(others.argmin())
        if not np.isfinite(others[best]):
            return "no other site may run it"
        more, name = others[best] - here, self.network.name(best)
        if abs(more) <= 1e-9 * max(abs(here), 1e-9):
            return f"{name} would cost the same"
        what = f"{_amount(abs(more))} {_UNITS[objective]}"
        return f"{name} would cost {what} more" if more > 0 else f"alone, {name} would cost {what} less"

    def _elsewhere(self, step: Step) -> np.ndarray:
        """What the step, its inputs' and its output's ways cost with it at each site and all else as it is."""
        ground = self.chosen.problem.ground
        found = step.cores * ground.prices.per_core + ground.prices.per_operator
        for key in step.inputs:
            content = self.contents[key]
            base = np.full(len(self.network), np.inf)
            base[list(self._present(key, step))] = 0.0
            found = found + ground.routes(content.within).sweep(base, content.bytes_per_second).cost
        output = self.contents[step.output]
        for end in self._read_at(step):
            found = found + output.bytes_per_second * ground.routes(output.within).to_site(end)
        return np.asarray(found)

    def _present(self, key: str, without: Step) -> set[int]:
        """The sites where a content that a step reads is to be had for others' sake."""
        place = self.made_at(key, without.site)
        found = {place[1]}
        ends = [step.site for step in self.plan.steps if step != without and key in step.inputs]
        ends += [goal.site for goal in self.plan.goals if goal.content == key]
        for end in ends:
            while end not in found and self.made_at(key, end) == place:
                provider = self._providers[key, end]
                found.add(end)
                end = int(self.network.start[provider.link]) if isinstance(provider, Hop) else place[1]
        return found

    def _read_at(self, step: Step) -> Iterable[int]:
        place = (step.output, step.site)
        found = {
            other.site
            for other in self.plan.steps
            if any(self.made_at(key, other.site) == place for key in other.inputs)
        }
        return found | {g.site for g in self.plan.goals if self.made_at(g.content, g.site) == place}

    def links(self, plan: Plan | None = None) -> list[Link]:
        """What flows on each link that carries anything, and what that costs in an hour."""
        moved = (self.plan if plan is None else plan).on_links(self.network)
        usd = moved * self.network.usd_per_gb * 3600 / 1e9
        names = self.network.name
        return [
            Link(names(self.network.start[n]), names(self.network.end[n]), float(moved[n]), float(usd[n]))
            for n in np.flatnonzero(moved > 0)
        ]

    def as_data(self, seconds: float) -> dict[str, Any]:
        """The plan as plain data, as `tradewind plan --json` prints it."""
        chosen = self.chosen
        return {
            "objective": chosen.problem.deployment.objective,
            "cost": chosen.cost,
            "planner": chosen.planner,
            "seconds": seconds,
            "bound": chosen.bound,
            "note": chosen.note,
            "operators": [_operator_data(line) for line in self.lines],
            "links": [_link_data(link) for link in self.links()],
            "ship_everything": {
                "cost": chosen.shipped_cost,
                "bytes_per_second": sum(link.bytes_per_second for link in self.links(chosen.shipped)),
                "links": [_link_data(link) for link in self.links(chosen.shipped)],
            },
            "approximated": dict(chosen.approximated),
            "warnings": list(chosen.problem.warnings),
        }


def _said(step: Step) -> str | None:
    """What a step does, in words: of a join, its conditions and not the columns that it keeps."""
    if step.operator is None or step.kind == "merge":
        return None
    below = set(walk(*step.over))
    own = [node for node in walk(step.operator) if node not in below]
    return label(next((node for node in own if isinstance(node, Join)), step.operator))


def _operator_data(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": line.id, "kind": line.kind, "site": line.site, "inputs": list(line.inputs),
        "rows_per_second": line.rows_per_second, "bytes_per_second": line.bytes_per_second,
        "queries": list(line.queries), "label": line.label, "cores": line.cores, "why": line.why,
        "residency": line.residency,
    }  # fmt: skip
    if len(line.shares) > 1 or any(share.worker > 1 for share in line.shares):
        found["workers"] = [
            {"worker": s.worker, "part": s.part, "parts": s.parts, "by": list(s.keys), "before": s.before}
            for s in line.shares
        ]
    return found


def _link_data(link: Link) -> dict[str, Any]:
    return {
        "from": link.start, "to": link.end, "bytes_per_second": link.bytes_per_second,
        "usd_per_hour": link.usd_per_hour,
    }  # fmt: skip


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

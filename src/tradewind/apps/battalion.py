"""Positions of units on a battlefield whose movements are known, and what each of the four questions must answer.

Friends stay to the left of the line and enemies to the right, some of them on the line itself. Some enemies attack:
each crosses the line at a moment that was drawn for it, and goes on until it turns back at another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradewind.algebra.times import parse_timestamp
from tradewind.apps.expectation import Expectation, Row
from tradewind.apps.folder import cuts_between, lay_out, scaled, write_rows
from tradewind.apps.rehome import at_one_site
from tradewind.frontends.deployment.deployment import Deployment

SECOND = 1_000_000
START = parse_timestamp("2026-06-06T04:00:00Z")
STOP = START + 120 * SECOND
WIDTH, LINE, HEIGHT = 500.0, 350.0, 300.0
EVERY = {"ground": SECOND, "air": SECOND // 2}
"""How often each unit is seen."""

_KINDS = {"ground": ("TANK", "INFANTRY"), "air": ("AIR",)}
_SPEEDS = {"ground": (0.5, 4.0), "air": (5.0, 20.0)}
_PARTS = 6


@dataclass(frozen=True, slots=True)
class Size:
    """How many units there are on the ground and in the air."""

    ground: int = 600
    air: int = 40


@dataclass(frozen=True, slots=True)
class Attack:
    """An enemy's way over the line: it crosses, turns, and would be back as long after turning as it took."""

    crosses: int
    turns: int
    speed: float

    @property
    def returns(self) -> int:
        """When it is on the line again."""
        return 2 * self.turns - self.crosses

    def depth(self, times: NDArray[np.int64]) -> NDArray[np.float64]:
        """How far beyond the line it is; below zero on its own side."""
        found: NDArray[np.float64] = self.speed * np.minimum(times - self.crosses, self.returns - times) / SECOND
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A unit, and where it was seen when."""

    domain: str
    side: str
    kind: str
    number: int
    attack: Attack | None
    times: NDArray[np.int64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    @property
    def name(self) -> str:
        """What reports call it."""
        return f"{self.side}-{self.kind}-{self.number}"


def prepare(folder: Path, seed: int, scale: float) -> tuple[Deployment, Expectation]:
    """Files and expectation at a scale (1: 640 units, two minutes), and the deployment that asks about them."""
    full = Size()
    return write(folder, Size(scaled(full.ground, scale, 8), scaled(full.air, scale, 4)), seed)


def write(folder: Path, size: Size, seed: int) -> tuple[Deployment, Expectation]:
    """Make all positions, write what each aircraft sees below a folder, and say what the questions must answer."""
    found = lay_out("battalion.yaml", folder)
    draw = np.random.default_rng(seed)
    units = [make_unit("ground", number, draw) for number in range(size.ground)]
    units += [make_unit("air", number, draw) for number in range(size.air)]
    rows = 0
    for stream, domain in (("ground_units", "ground"), ("air_units", "air")):
        seen = [unit for unit in units if unit.domain == domain]
        columns = {
            "ts": np.concatenate([unit.times for unit in seen]),
            "unit": np.repeat([unit.name for unit in seen], [len(unit.times) for unit in seen]),
            "x": np.concatenate([unit.x for unit in seen]),
            "y": np.concatenate([unit.y for unit in seen]),
        }
        origins = list(found.streams[stream].origins)
        # Each aircraft watches a strip of the field.
        strips = np.minimum(columns["y"] / HEIGHT * len(origins), len(origins) - 1).astype(np.int64)
        for number, origin in enumerate(origins):
            mine = {name: values[strips == number] for name, values in columns.items()}
            rows += write_rows(found, stream, origin, mine, draw=draw, cuts=cuts_between(START, STOP, _PARTS))
    return at_one_site(found, "command"), Expectation(answers(units), rows, _story(units))


def _story(units: list[Unit]) -> tuple[str, ...]:
    attacks = [unit.attack for unit in units if unit.attack]
    back = sum(attack.returns < STOP for attack in attacks)
    return (f"{len(attacks)} of {len(units)} units are enemies that cross the line", f"{back} of them come back")


def make_unit(domain: str, number: int, draw: np.random.Generator) -> Unit:
    """A unit of either side in turn; every other enemy attacks."""
    kinds = _KINDS[domain]
    side, kind = "FE"[number % 2], kinds[number // 2 % len(kinds)]
    attacks = side == "E" and number // 2 // len(kinds) % 2 == 0
    attack = _attack(domain, draw) if attacks else None
    step = EVERY[domain]
    count = (STOP - START) // step
    times = START + ((np.arange(count) + draw.uniform(0.1, 0.9, count)) * step).astype(np.int64)
    y = draw.uniform(0, HEIGHT) + draw.normal(0, 0.5, count).cumsum()
    return Unit(domain, side, kind, number, attack, times, _x(side, attack, times, draw), np.clip(y, 0, HEIGHT))


def _attack(domain: str, draw: np.random.Generator) -> Attack:
    crosses = START + int(draw.integers(10 * SECOND, 80 * SECOND))
    turns = crosses + int(draw.integers(5 * SECOND, 60 * SECOND))
    return Attack(crosses, turns, float(draw.uniform(*_SPEEDS[domain])))


def _x(side: str, attack: Attack | None, times: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.float64]:
    if attack is not None:
        return np.clip(LINE - attack.depth(times), 0, WIDTH)
    low, high = (0, LINE) if side == "F" else (LINE, WIDTH)
    # Those that wander over their bounds are stopped there: some enemies stand on the line and have not crossed it.
    return np.clip(draw.uniform(low, high) + draw.normal(0, 2, len(times)).cumsum(), low, high)


def answers(units: list[Unit]) -> dict[str, Counter[Row]]:
    """All four outputs, from who the units are and when they crossed the line."""
    found: dict[str, Counter[Row]] = {
        name: Counter() for name in ("analysis", "enemy_tanks", "enemy_aircraft", "across_the_line")
    }
    for unit in units:
        seen = zip(unit.times.tolist(), unit.x.tolist(), unit.y.tolist(), strict=True)
        rows = [(time, unit.name, x, y, unit.side, unit.kind) for time, x, y in seen]
        found["analysis"].update(rows)
        if unit.side == "E" and unit.kind == "TANK":
            found["enemy_tanks"].update(rows)
        if unit.side == "E" and unit.kind == "AIR":
            found["enemy_aircraft"].update(rows)
        if unit.attack is not None:
            crosses, returns = unit.attack.crosses, unit.attack.returns
            found["across_the_line"].update(
                (time, name, kind, x, y, LINE - x) for time, name, x, y, _, kind in rows if crosses < time < returns
            )
    return found

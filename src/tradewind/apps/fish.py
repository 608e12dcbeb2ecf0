"""Readings of fish tanks with known episodes of odd breathing, and the reports and alarms that they must give.

Every tank is read once in each stretch of time, at some moment within it. In an episode its fish breathe far too fast
or hardly at all, the water turns sour and its oxygen falls. Outside they breathe normally, some of them as fast or as
slowly as is still normal. The first tank begins with an episode: nothing is known yet of its water or of normal fish.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradewind.algebra.times import parse_timestamp
from tradewind.apps.expectation import Expectation, Row
from tradewind.apps.folder import cuts_between, lay_out, scaled, write_rows
from tradewind.apps.rehome import at_one_site
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment

MINUTE = 60_000_000
HOUR = 60 * MINUTE
START = parse_timestamp("2026-03-02T06:00:00Z")
WATER = ("temperature", "ph", "oxygen", "conductivity")
SLOWEST, FASTEST = 20.0, 90.0
"""Breaths a minute that are just normal."""

_USUAL = {"temperature": 12.0, "ph": 7.4, "oxygen": 8.5, "conductivity": 450.0}
_NOISE = {"temperature": 0.05, "ph": 0.01, "oxygen": 0.05, "conductivity": 2.0}
_POISONED = {"temperature": 0.0, "ph": -0.6, "oxygen": -2.5, "conductivity": 60.0}
"""How an episode changes the water in an hour."""

_LONGEST_STEP = 20 * MINUTE
_PARTS = 8


@dataclass(frozen=True, slots=True)
class Size:
    """How many tanks are read, over how many hours, once in which time."""

    tanks: int = 16
    hours: int = 8
    step: int = MINUTE


@dataclass(frozen=True, slots=True)
class Episode:
    """Fish that breathe oddly, from `start` on and before `stop`."""

    start: int
    stop: int
    breathless: bool


@dataclass(frozen=True, slots=True, eq=False)
class Tank:
    """The readings of a tank in time."""

    name: str
    times: NDArray[np.int64]
    odd: NDArray[np.bool_]
    breaths: NDArray[np.float64]
    water: dict[str, NDArray[np.float64]]


def prepare(folder: Path, seed: int, scale: float) -> tuple[Deployment, Expectation]:
    """Files and expectation at a scale (1: 16 tanks, read every minute), and the deployment that asks about them.

    At a smaller scale there are fewer tanks, and each is read less often.
    """
    full = Size()
    tanks = round(math.sqrt(scaled(full.tanks**2, scale, 4)))
    return write(folder, Size(tanks, full.hours, round(full.step * full.tanks / tanks)), seed)


def write(folder: Path, size: Size, seed: int) -> tuple[Deployment, Expectation]:
    """Make the readings of all tanks, write them below a folder, and say which reports and alarms they must give."""
    if not 0 < size.step <= _LONGEST_STEP:
        raise InputError("tanks are read every 20 minutes or more often.", hint="each hour's report needs readings.")
    found = lay_out("fish.yaml", folder)
    draw = np.random.default_rng(seed)
    stop = START + size.hours * HOUR
    plan = [make_episodes(number == 0, stop, draw) for number in range(size.tanks)]
    tanks = [make_tank(f"tank-{number + 1:02}", plan[number], stop, size.step, draw) for number in range(size.tanks)]
    [origin] = found.streams["observations"].origins
    columns = {
        "ts": np.concatenate([tank.times for tank in tanks]),
        "tank": np.repeat([tank.name for tank in tanks], [len(tank.times) for tank in tanks]),
        "breaths": np.concatenate([tank.breaths for tank in tanks]),
        **{name: np.concatenate([tank.water[name] for tank in tanks]) for name in WATER},
    }
    rows = write_rows(found, "observations", origin, columns, draw=draw, cuts=cuts_between(START, stop, _PARTS))
    told = tuple(_told(tank, episode) for tank, episodes in zip(tanks, plan, strict=True) for episode in episodes)
    return at_one_site(found, "laboratory"), Expectation(answers(tanks), rows, told)


def _told(tank: Tank, episode: Episode) -> str:
    how = "hardly breathe" if episode.breathless else "breathe too fast"
    from_minute, to_minute = ((moment - START) // MINUTE for moment in (episode.start, episode.stop))
    return f"the fish of {tank.name} {how} from minute {from_minute} to {to_minute}"


def make_episodes(at_once: bool, stop: int, draw: np.random.Generator) -> list[Episode]:
    """One or two episodes of 40 to 90 minutes, the later one hours after the first."""
    first = START if at_once else START + int(draw.integers(HOUR, 3 * HOUR))
    starts = [first, first + int(draw.integers(3 * HOUR, 5 * HOUR))][: int(draw.integers(1, 3))]
    lengths = draw.integers(40 * MINUTE, 90 * MINUTE, len(starts)).tolist()
    return [
        Episode(start, start + length, bool(draw.integers(2)))
        for start, length in zip(starts, lengths, strict=True)
        if start < stop
    ]


def make_tank(name: str, episodes: list[Episode], stop: int, step: int, draw: np.random.Generator) -> Tank:
    """Readings that wander, swing with the hour, and follow the episodes."""
    count = (stop - START) // step
    times = START + ((np.arange(count) + draw.uniform(0.05, 0.95, count)) * step).astype(np.int64)
    breaths = draw.choice([SLOWEST, FASTEST], count)
    usual = draw.random(count) < 0.9
    breaths[usual] = np.round(draw.uniform(40, 70, count)[usual], 1)
    odd = np.zeros(count, dtype=np.bool_)
    poisoned = np.zeros(count)
    for episode in episodes:
        inside = (times >= episode.start) & (times < episode.stop)
        low, high = (0, SLOWEST - 1) if episode.breathless else (FASTEST + 1, 140)
        breaths[inside] = np.round(draw.uniform(low, high, count)[inside], 1)
        poisoned += np.clip(times - episode.start, 0, episode.stop - episode.start) / HOUR
        odd |= inside
    swing = 1.5 * np.sin((times - START) / (24 * HOUR) * 2 * math.pi)
    water = {
        one: np.round(
            _USUAL[one]
            + (swing if one == "temperature" else 0)
            + draw.normal(0, _NOISE[one], count)
            + poisoned * _POISONED[one],
            3,
        )
        for one in WATER
    }
    return Tank(name, times, odd, breaths, water)


def answers(tanks: list[Tank]) -> dict[str, Counter[Row]]:
    """Both outputs: a report of each tank's water every minute, and an alarm for every odd reading."""
    reports = Counter(row for tank in tanks for row in _reports(tank))
    alarms = Counter(row for tank in tanks for row in _alarms(tank))
    return {"water_quality": reports, "alarms": alarms}


def _reports(tank: Tank) -> Iterator[Row]:
    """From the first minute after a reading until an hour after the last one."""
    first, last = (int(tank.times[end]) // MINUTE * MINUTE for end in (0, -1))
    for minute in range(first + MINUTE, last + HOUR + MINUTE, MINUTE):
        if tank.times[-1] >= minute - HOUR:
            yield (minute, tank.name, *_water(tank, minute))


def _alarms(tank: Tank) -> Iterator[Row]:
    normal: Row = (None, None, *_water(tank, START))
    for number, moment in enumerate(tank.times.tolist()):
        breaths, water = float(tank.breaths[number]), _water(tank, moment)
        if tank.odd[number]:
            yield (moment, tank.name, breaths, *water, *normal)
        else:
            normal = (moment, breaths, *water)


def _water(tank: Tank, moment: int) -> Row:
    """Each value as last read before the minute began, and its change over the last 1, 2 and 4 hours."""
    minute = moment // MINUTE * MINUTE
    last = int(np.searchsorted(tank.times, minute)) - 1
    found: list[float | tuple[float, ...] | None] = []
    for name in WATER:
        values = tank.water[name]
        if last < 0:
            found += [None, None]
            continue
        firsts = [int(np.searchsorted(tank.times, minute - hours * HOUR)) for hours in (1, 2, 4)]
        found += [float(values[last]), tuple(float(values[last] - values[first]) for first in firsts)]
    return tuple(found)

"""What arises where, and how much of every content flows at the rates that a plan was made for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tradewind.errors import InputError, unknown
from tradewind.placement.choices import Content
from tradewind.simulation.schedule import STEADY, Schedule

Schedules = Mapping[str, Schedule | Mapping[int, Schedule]]
"""By the key of a base content: one for all its origins, or one for each of some of them."""


@dataclass(frozen=True, slots=True)
class Source:
    """A base content at one of its origins: its bytes at a factor of one, and the factor over time."""

    content: str
    site: int
    bytes_per_second: float
    schedule: Schedule = STEADY


@dataclass(frozen=True, slots=True)
class Rates:
    """The sources, and the nominal rates by a content's key: those of a moment when every factor is one.

    A plan's hops know the nominal bytes of what they carry, so `bytes_per_second` is needed only for a content that
    crosses no link and is one of several inputs. `rows_per_second` is needed for the answers' rows only.
    """

    sources: tuple[Source, ...]
    bytes_per_second: Mapping[str, float] = field(default_factory=dict)
    rows_per_second: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for source in self.sources:
            _checked(source.content, source.bytes_per_second, "bytes")
        for unit, rates in (("bytes", self.bytes_per_second), ("rows", self.rows_per_second)):
            for key, rate in rates.items():
                _checked(key, rate, unit)
        if len({(source.content, source.site) for source in self.sources}) != len(self.sources):
            raise InputError("a content arises twice at one site.", hint="add up its rates.")

    @staticmethod
    def of(contents: Iterable[Content], schedules: Schedules | None = None) -> Rates:
        """The rates of all contents that a planner chose from.

        Where there is no schedule, nothing changes.
        """
        all_of_them = tuple(contents)
        changes = schedules or {}
        _known(changes, {content.key: content.origins for content in all_of_them if content.origins})
        return Rates(
            tuple(
                Source(content.key, site, content.bytes_per_second, _chosen(changes.get(content.key, STEADY), site))
                for content in all_of_them
                for site in content.origins
            ),
            {content.key: content.bytes_per_second for content in all_of_them},
            {content.key: content.rows_per_second for content in all_of_them},
        )

    @property
    def origins(self) -> dict[str, tuple[int, ...]]:
        """The sites of each base content."""
        found: dict[str, tuple[int, ...]] = {}
        for source in self.sources:
            found[source.content] = (*found.get(source.content, ()), source.site)
        return found


def _chosen(schedule: Schedule | Mapping[int, Schedule], site: int) -> Schedule:
    return schedule if isinstance(schedule, Schedule) else schedule.get(site, STEADY)


def _known(schedules: Schedules, origins: Mapping[str, tuple[int, ...]]) -> None:
    for key, schedule in schedules.items():
        if key not in origins:
            raise unknown("base content", key, origins, where="schedules")
        for site in () if isinstance(schedule, Schedule) else schedule:
            if site not in origins[key]:
                raise InputError(
                    f"{key!r} does not arise at site number {site}.",
                    where="schedules",
                    hint=f"it arises at {', '.join(map(str, origins[key]))}.",
                )


def _checked(key: str, rate: float, unit: str) -> None:
    if not (rate >= 0 and math.isfinite(rate)):
        raise InputError(f"{key!r} has a rate of {rate:g} {unit} per second.", hint="a rate is zero or above.")

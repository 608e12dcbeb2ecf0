"""How much flows out of an operator, and what is known of each of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Windows:
    """A column that says in which stretch of time a row lies: each `size` seconds long, a new one every `step`."""

    size: float
    step: float

    @property
    def at_once(self) -> float:
        """In how many windows a moment lies."""
        return self.size / self.step


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of a column."""

    bytes: float
    """Its bytes per row, packed."""
    distinct: float | None = None
    """The number of its values; None where it is not known. For a state: of the values that it was lifted from."""
    skew: float = 0.0
    pool: str = ""
    """Which values these are: columns of equal pools draw from the same ones."""
    whole: tuple[str, float | None] = ("", None)
    """The pool, and the number of its values, before conditions narrowed it."""
    scale: float = 1.0
    """What the declared weight of a row is over the predicted one: for what else is made of this column."""
    windows: Windows | None = None
    fresh: float | None = None
    """Bytes of a value that is new in its batch, where that was measured."""

    def narrowed(self, share: float, condition: str) -> Figures:
        """The column behind a condition on it alone that keeps a share of its values."""
        if self.distinct is None:
            return self
        return replace(self, distinct=max(1.0, self.distinct * share), pool=f"{self.pool}[{condition}]")


@dataclass(frozen=True, slots=True)
class Flow:
    """What an operator gives out in the long run."""

    rows_per_second: float
    columns: Mapping[str, Figures]
    streams: frozenset[tuple[str, str]]
    """The streams, each with an origin, that it is made of."""
    flush_seconds: float | None = None
    """The time between two batches, where it gives out what changed in each; None for rows that pass as they come."""
    lifted_per_second: float = 0.0
    """For partials: the rows, once for each of their windows, that they stand for; otherwise its own rows."""
    beside_per_second: float = 0.0
    """Bytes of its batches beside their rows' columns: `sending` works them out."""
    due: float = 0.0
    """Bytes of a row that say by when it is final, where no column does."""
    read_per_second: float = 0.0
    """The rows that are read at its origins: where there are none, there is no batch."""
    declared: bool = False
    """Whether the weight of its origins' rows was declared, as all that they take on a link."""

    @property
    def bytes_per_second(self) -> float:
        """All that crosses a link when it is sent over one."""
        return self.rows_per_second * sum(column.bytes for column in self.columns.values()) + self.beside_per_second

    @property
    def row_bytes(self) -> float:
        """The weight of a row, its share of its batch included."""
        if self.rows_per_second > 0:
            return self.bytes_per_second / self.rows_per_second
        return sum(column.bytes for column in self.columns.values())

    @property
    def distinct(self) -> dict[str, float]:
        """The number of values of the columns of which it is known."""
        return {name: found.distinct for name, found in self.columns.items() if found.distinct is not None}

    def thinned(self, share: float) -> Flow:
        """A share of the rows."""
        return replace(
            self,
            rows_per_second=self.rows_per_second * share,
            lifted_per_second=self.lifted_per_second * share,
        )


def shares(weights: list[float]) -> list[float]:
    """Each weight as a share of all; equal ones where there is none."""
    total = sum(weights)
    return [weight / total if total > 0 else 1 / len(weights) for weight in weights]


def pooled(members: list[Figures], parts: list[float], lifted: list[float]) -> Figures:
    """A column of a union: equal pools are counted once, others together, and never more than there are in all.

    `parts` are the shares of the members' rows, `lifted` of the rows that they stand for.
    """
    first = members[max(range(len(parts)), key=parts.__getitem__)]
    counts: dict[str, float] = {}
    wholes: dict[str, float] = {}
    known = True
    for number, one in enumerate(members):
        if one.distinct is None:
            known = False
            continue
        name = one.pool or f"#{number}"
        counts[name] = max(counts.get(name, 0.0), one.distinct)
        whole, most = one.whole
        wholes[whole or name] = max(wholes.get(whole or name, 0.0), most if most is not None else one.distinct)
    distinct = min(sum(counts.values()), sum(wholes.values())) if known else None
    pool = first.pool if len(counts) <= 1 else "+".join(sorted(counts))
    return replace(
        first,
        bytes=sum(part * one.bytes for part, one in zip(parts, members, strict=True)),
        distinct=distinct,
        pool=pool,
        whole=("+".join(sorted(wholes)), sum(wholes.values())) if known else first.whole,
        scale=sum(part * one.scale for part, one in zip(lifted, members, strict=True)),
        fresh=_mean([one.fresh for one in members], lifted),
    )


def _mean(values: list[float | None], parts: list[float]) -> float | None:
    """The mean of values with such shares; None where one is not known."""
    known = [value for value in values if value is not None]
    return sum(part * value for part, value in zip(parts, known, strict=True)) if len(known) == len(values) else None

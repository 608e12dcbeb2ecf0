"""What was measured of streams: put into a deployment, told in words, and written down for later runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tradewind.algebra.durations import format_duration
from tradewind.algebra.types import MICROS
from tradewind.frontends.deployment.deployment import Backlog, DeclaredStream, Deployment, LookedAt, Width

_FILE = "measured.json"


@dataclass(slots=True)
class Figures:
    """What was measured of a stream where nothing is declared: of each origin rows per second, over how many
    microseconds, and bytes per row; of columns the number of their values, and their skew. Besides, of each origin and
    column the bytes of a row and of a new value; and, for a run that ends when all is read, in how many micro-batches
    an origin is read, over how many seconds.
    """

    rates: dict[str, float] = field(default_factory=dict)
    spans: dict[str, int] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    skew: dict[str, float] = field(default_factory=dict)
    widths: dict[str, dict[str, tuple[float, float]]] = field(default_factory=dict)
    backlogs: dict[str, tuple[int, float]] = field(default_factory=dict)

    def fill(self, stream: DeclaredStream) -> DeclaredStream:
        """The stream with these figures; what it declares stays."""
        origins = {
            site: origin.model_copy(update={"rows_per_second": self.rates[site]})
            if origin.rows_per_second is None and site in self.rates
            else origin
            for site, origin in stream.origins.items()
        }
        distinct, skew = self.distinct | dict(stream.distinct), self.skew | dict(stream.skew)
        looked_at = {site: self._looked_at(site) for site in stream.origins if site in self._sites}
        return replace(stream, origins=origins, distinct=distinct, skew=skew, looked_at=looked_at)

    @property
    def _sites(self) -> frozenset[str]:
        """The sites at which data were looked at."""
        return frozenset((*self.weights, *self.widths, *self.backlogs))

    def _looked_at(self, site: str) -> LookedAt:
        widths = {column: Width(*width) for column, width in self.widths.get(site, {}).items()}
        backlog = self.backlogs.get(site)
        return LookedAt(self.weights.get(site), widths, None if backlog is None else Backlog(*backlog))

    def lines(self, name: str) -> Iterator[str]:
        """The figures of the stream of a name in words: a line for each origin, and one for all columns."""
        for site in dict.fromkeys((*self.rates, *self.weights)):
            said = []
            if site in self.rates:
                over = f" over {_duration(self.spans[site])}" if site in self.spans else ", generated"
                said.append(f"{_number(self.rates[site])} rows/s{over}")
            if site in self.weights:
                said.append(f"{_number(self.weights[site])} bytes a row")
            yield f"{name} at {site}: {', '.join(said)}"
        counted = []
        for column in dict.fromkeys((*self.distinct, *self.skew)):
            many = f"{self.distinct[column]:,} values of {column}" if column in self.distinct else column
            counted.append(f"{many} (skew {self.skew[column]:.2g})" if column in self.skew else many)
        if counted:
            yield f"{name}: {', '.join(counted)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _duration(micros: int) -> str:
    """A length of time in as round a unit as is fair.

    >>> _duration(719_998_000), _duration(400_000), _duration(10_800_000_001)
    ('12 minutes', '400 milliseconds', '3 hours')
    """
    units = (86_400 * MICROS, 3_600 * MICROS, 60 * MICROS, MICROS, MICROS // 1000, 1)
    unit = next(unit for unit in units if micros >= 3 * unit or unit == 1)
    return format_duration(round(micros / unit) * unit)


def key_of(found: Deployment, wanted: Mapping[str, Sequence[str]]) -> str:
    """What figures are of: of streams that are declared otherwise, or other columns of them, there are others."""
    streams = {
        name: [
            str(stream.source.schema),
            {site: origin.model_dump() for site, origin in stream.origins.items()},
            dict(stream.distinct),
            dict(stream.skew),
            list(wanted.get(name, ())),
        ]
        for name, stream in found.streams.items()
    }
    return hashlib.sha256(json.dumps(streams, sort_keys=True, default=str).encode()).hexdigest()


def remembered(state: Path, key: str) -> dict[str, Figures] | None:
    """The figures that were written down under a key, if any were."""
    streams = _known(state).get(key)
    return None if streams is None else {name: Figures(**figures) for name, figures in streams.items()}


def remember(state: Path, key: str, known: Mapping[str, Figures]) -> None:
    """Write figures down, beside those under other keys."""
    streams = {name: asdict(figures) for name, figures in known.items()}
    with suppress(OSError):  # that its folder cannot be written the run itself will say
        state.mkdir(parents=True, exist_ok=True)
        partial = (state / _FILE).with_suffix(".partial")
        partial.write_text(json.dumps({**_known(state), key: streams}), encoding="utf-8")
        partial.replace(state / _FILE)


def _known(state: Path) -> dict[str, Any]:
    try:
        found = json.loads((state / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}

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
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment

_FILE = "measured.json"


@dataclass(slots=True)
class Figures:
    """What was measured of a stream where nothing is declared: of each origin rows per second, over how many
    microseconds, and bytes per row; of columns the number of their values, and their skew.
    """

    rates: dict[str, float] = field(default_factory=dict)
    spans: dict[str, int] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    distinct: dict[str, int] = field(default_factory=dict)
    skew: dict[str, float] = field(default_factory=dict)

    def fill(self, stream: DeclaredStream) -> DeclaredStream:
        """The stream with these figures; what it declares stays."""
        origins = {}
        for site, origin in stream.origins.items():
            more = {"rows_per_second": self.rates.get(site), "row_bytes": self.weights.get(site)}
            missing = {key: value for key, value in more.items() if getattr(origin, key) is None}
            origins[site] = origin.model_copy(update=missing)
        distinct, skew = self.distinct | dict(stream.distinct), self.skew | dict(stream.skew)
        return replace(stream, origins=origins, distinct=distinct, skew=skew)

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

"""How often each domain and each URL is asked for: two of Zipf's laws, fitted to the published roll-up of a CDN's log.

The authors of JetStream published how far such a log shrinks when it is rolled up: lines over different (key, time
bucket) pairs, for two keys and five lengths of bucket. One of Zipf's laws does not bend as these figures do; two do:
most lines ask for a few popular values, the others for a long tail. The figures do not tell how many lines a second the
log had, and two laws fit them at any rate; here they hold for `RATE` lines a second. `./dev bench rollup` fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tradewind.cost.groups import Spectrum, expected_groups, spectrum

RATE = 250.0
"""The lines a second at which the laws give the published figures: 22 million a day."""
SECONDS = (5.0, 60.0, 300.0, 3_600.0, 86_400.0)
"""The lengths of the published time buckets."""
PUBLISHED = {"domain": (18.1, 50.5, 79.5, 129.0, 284.0), "url": (1.42, 1.69, 1.80, 2.01, 2.25)}
"""Lines over different (key, time bucket) pairs, for each length of bucket."""
_SKEWS = (0.0, 3.0)

Ranks = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Law:
    """Values of which most lines ask for popular ones and `tail_share` of the lines for others, each by Zipf's law."""

    popular: int
    skew: float
    tail: int
    tail_skew: float
    tail_share: float

    @property
    def values(self) -> int:
        """How many values there are."""
        return self.popular + self.tail

    def groups(self, rows: float) -> float:
        """How many different values so many lines are expected to have."""
        head, tail = self._spectra()
        return head.groups(rows * (1 - self.tail_share)) + tail.groups(rows * self.tail_share)

    def factors(self, rate: float = RATE) -> tuple[float, ...]:
        """Lines over different (value, time bucket) pairs, for each of the published lengths of bucket."""
        return tuple(rate * seconds / self.groups(rate * seconds) for seconds in SECONDS)

    def drawn(self, draw: np.random.Generator, rows: int) -> Ranks:
        """The ranks of the values that so many lines ask for, from 0; those of the tail follow the popular ones."""
        head, tail = self._spectra()
        rare = draw.random(rows) < self.tail_share
        found = np.empty(rows, dtype=np.int64)
        found[~rare] = ranks(head, draw, int((~rare).sum()))
        found[rare] = self.popular + ranks(tail, draw, int(rare.sum()))
        return found

    def one_skew(self, rows: Sequence[float]) -> float:
        """The skew of the one Zipf law over as many values that comes nearest to this law's groups in so many lines.

        A deployment declares one skew a column; this is the one that serves batches of these sizes.
        """
        wanted = [self.groups(some) for some in rows]

        def off(skew: float) -> float:
            found = (expected_groups(some, [(self.values, round(skew, 4))]) for some in rows)
            return sum(float(np.log(one / other)) ** 2 for one, other in zip(found, wanted, strict=True))

        return round(float(minimize_scalar(off, bounds=_SKEWS, method="bounded").x), 3)

    def _spectra(self) -> tuple[Spectrum, Spectrum]:
        return spectrum(float(self.popular), self.skew), spectrum(float(self.tail), self.tail_skew)


DOMAINS = Law(popular=85, skew=1.881, tail=339_000, tail_skew=1.061, tail_share=0.0217)
URLS = Law(popular=496, skew=1.155, tail=10**12, tail_skew=0.949, tail_share=0.6293)


def ranks(law: Spectrum, draw: np.random.Generator, rows: int) -> Ranks:
    """Values drawn from a spectrum, as ranks from 0; of those that share an entry, each is as likely as the others."""
    ends = np.cumsum(law.chances * law.counts)
    entry = np.searchsorted(ends, draw.random(rows) * ends[-1], side="right").clip(max=len(ends) - 1)
    before = np.concatenate([[0.0], np.cumsum(law.counts)])
    within = np.floor(draw.random(rows) * law.counts[entry])
    return np.asarray(before[entry] + within, dtype=np.int64)

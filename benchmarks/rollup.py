"""How well Zipf's law fits a published roll-up of a log: lines over different (key, time bucket) pairs.

Run with `./dev bench rollup`. The figures are those that the authors of JetStream gave for a CDN's log. For each key
the rate, the number of values and the skew are fitted, and then both keys with one rate, as they come from one log.
At last two of Zipf's laws at once are fitted to each key: the demonstration's logs are drawn by them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tradewind.apps.cdn import law
from tradewind.cost.groups import spectrum

SECONDS = np.array(law.SECONDS)
PUBLISHED = {"domains": np.array(law.PUBLISHED["domain"]), "URLs": np.array(law.PUBLISHED["url"])}
_LOW, _HIGH = (np.log(10.0), np.log(1e3), 0.1), (np.log(1e8), np.log(1e12), 3.0)
Numbers = NDArray[np.float64]


def factors(rate: float, values: float, skew: float) -> Numbers:
    """Rows over groups for each length of bucket."""
    drawn = spectrum(float(round(values)), float(skew))
    return np.array([rate * seconds / drawn.groups(rate * seconds) for seconds in SECONDS])


def fitted(published: list[Numbers]) -> tuple[float, list[tuple[float, float]]]:
    """The common rate, and values and skew for each key, that come nearest in proportion."""

    def off(found: Numbers) -> Numbers:
        rate = np.exp(found[0])
        parts = [
            np.log(factors(rate, np.exp(found[1 + 2 * key]), found[2 + 2 * key]) / wanted)
            for key, wanted in enumerate(published)
        ]
        return np.concatenate(parts)

    low = [_LOW[0], *(_LOW[1:] * len(published))]
    high = [_HIGH[0], *(_HIGH[1:] * len(published))]
    starts = [
        [np.log(rate), *([np.log(values), skew] * len(published))]
        for rate in (1e3, 3e4, 1e6)
        for values in (1e5, 1e9)
        for skew in (0.7, 1.0, 1.3)
    ]
    runs = [least_squares(off, start, bounds=(low, high), diff_step=1e-3, max_nfev=80) for start in starts]
    best = min(runs, key=lambda run: float(run.cost)).x
    keys = [(float(np.exp(best[1 + 2 * key])), float(best[2 + 2 * key])) for key in range(len(published))]
    return float(np.exp(best[0])), keys


def fitted_by_two(wanted: Numbers, near: law.Law) -> law.Law:
    """The two laws, popular values and a tail, that come nearest at the demonstration's rate; sought near others."""

    def made(found: Numbers) -> law.Law:
        popular, tail = (round(float(np.exp(one))) for one in found[[0, 2]])
        return law.Law(popular, float(found[1]), tail, float(found[3]), float(np.exp(found[4])))

    def off(found: Numbers) -> Numbers:
        return np.log(np.array(made(found).factors()) / wanted)

    start = [np.log(near.popular), near.skew, np.log(near.tail), near.tail_skew, np.log(near.tail_share)]
    bounds = ([np.log(50), 0.1, np.log(1e4), 0.05, np.log(1e-4)], [np.log(1e9), 3.0, np.log(1.1e12), 2.0, np.log(0.9)])
    return made(least_squares(off, start, bounds=bounds, diff_step=1e-2, max_nfev=60).x)


def show_two(name: str, near: law.Law) -> None:
    """Fit one key by two laws, and print published beside fitted and beside what the demonstration draws by."""
    best = fitted_by_two(PUBLISHED[name], near)
    print(f"\n{name}: {best}")
    rows = zip(SECONDS, PUBLISHED[name], best.factors(), near.factors(), strict=True)
    for seconds, published, found, drawn in rows:
        print(f"  {seconds:8,.0f} s  {published:8.2f}  {found:8.2f}  {drawn:8.2f}")


def show(names: list[str]) -> None:
    """Fit the named keys with one rate, and print published beside fitted."""
    rate, keys = fitted([PUBLISHED[name] for name in names])
    for name, (values, skew) in zip(names, keys, strict=True):
        found = factors(rate, values, skew)
        print(f"\n{name}: {rate:,.0f} rows/s, {values:,.3g} values, skew {skew:.3f}")
        for seconds, published, predicted in zip(SECONDS, PUBLISHED[name], found, strict=True):
            print(f"  {seconds:8,.0f} s  {published:8.2f}  {predicted:8.2f}  {predicted / published - 1:+6.1%}")


def main() -> None:
    """Fit each key alone, then both together, then each by two laws."""
    print("bucket, published factor, fitted factor, difference")
    for name in PUBLISHED:
        show([name])
    print("\nboth with one rate")
    show(list(PUBLISHED))
    print(f"\ntwo laws at {law.RATE:,.0f} rows/s: bucket, published factor, fitted, as the demonstration draws")
    for name, near in (("domains", law.DOMAINS), ("URLs", law.URLS)):
        show_two(name, near)


if __name__ == "__main__":
    main()

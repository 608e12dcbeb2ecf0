"""What is done to links on purpose while a run goes on: they are cut, or throttled, for a time."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tradewind.algebra.durations import parse_duration
from tradewind.errors import InputError, UnknownNameError, unknown

_RATE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(?:mbps|mbit/s)", re.IGNORECASE)
_CUT = "write it as 'eu-dc:hq@20s+30s': the link of these two, from second 20 on, for 30 s; '@20s' alone: for ever."
_THROTTLE = "write it as 'eu-dc:hq@10mbps', or 'eu-dc:hq@10mbps@20s+30s': from second 20 on, for 30 s."


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The link between two sites, both ways, carries only `mbps` (nothing if None) for a time.

    `at` is in seconds after the start of the run; it `lasts` so many seconds, or for ever if None.
    """

    one: str
    other: str
    mbps: float | None = None
    at: float = 0.0
    lasts: float | None = None

    @property
    def until(self) -> float:
        """The second at which it is over."""
        return math.inf if self.lasts is None else self.at + self.lasts


def parse_cut(text: str, links: Collection[tuple[str, str]] = ()) -> Disturbance:
    """A cut as it is written on the command line; `links` are those that exist, if they are known.

    >>> parse_cut("eu-dc:hq@20s+1 minute")
    Disturbance(one='eu-dc', other='hq', mbps=None, at=20.0, lasts=60.0)
    """
    ends, sign, times = text.rpartition("@")
    if not sign:
        raise InputError(f"the cut {text[:80]!r} does not say when.", hint=_CUT)
    one, other = _ends(ends, links, text, _CUT)
    at, lasts = _times(times, text, _CUT)
    return Disturbance(one, other, None, at, lasts)


def parse_throttle(text: str, links: Collection[tuple[str, str]] = ()) -> Disturbance:
    """A throttled link as it is written on the command line; without times it is so from the start on, for ever.

    >>> parse_throttle("eu-dc:hq@10mbps@20s+30s")
    Disturbance(one='eu-dc', other='hq', mbps=10.0, at=20.0, lasts=30.0)
    """
    before, _, last = text.rpartition("@")
    times = None
    if not _RATE.fullmatch(last.strip()):
        times = last
        before, _, last = before.rpartition("@")
    rate = _RATE.fullmatch(last.strip())
    if not rate or not float(rate[1]):
        what = f"the throttle {text[:80]!r} does not say to how many Mbit/s."
        raise InputError(what, hint=f"{_THROTTLE} A link that carries nothing is cut.")
    one, other = _ends(before, links, text, _THROTTLE)
    at, lasts = (0.0, None) if times is None else _times(times, text, _THROTTLE)
    return Disturbance(one, other, float(rate[1]), at, lasts)


def schedule(disturbances: Sequence[Disturbance]) -> list[tuple[float, bool, Disturbance]]:
    """What happens when, in order: the second, whether it begins or is over, and what."""
    changes = [(one.at, True, one) for one in disturbances]
    changes += [(one.until, False, one) for one in disturbances if one.lasts is not None]
    return sorted(changes, key=lambda change: change[:2])


def no_link(one: str, other: str, links: Collection[tuple[str, str]]) -> UnknownNameError:
    """There is no link between two sites; the error lists those that there are."""
    return unknown("link", f"{one}:{other}", (f"{start}:{end}" for start, end in links))


def _ends(text: str, links: Collection[tuple[str, str]], whole: str, hint: str) -> tuple[str, str]:
    """The two sites; names may hold colons too, so the split that gives a known link is taken."""
    splits = list(_splits(text))
    for one, other in splits:
        if (one, other) in links or (other, one) in links:
            return one, other
    if len(splits) != 1 or not all(splits[0]):
        raise InputError(f"{whole[:80]!r} does not name the two sites of a link.", hint=hint)
    one, other = splits[0]
    if links:
        raise no_link(one, other, links)
    return one, other


def _splits(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(":", text):
        yield text[: found.start()].strip(), text[found.end() :].strip()


def _times(text: str, whole: str, hint: str) -> tuple[float, float | None]:
    begin, sign, length = text.partition("+")
    try:
        at = parse_duration(begin) / 1e6
        lasts = parse_duration(length) / 1e6 if sign else None
    except InputError as error:
        raise InputError(f"{whole[:80]!r}: {error.what}", hint=hint) from None
    if at < 0 or (lasts is not None and lasts <= 0):
        raise InputError(f"{whole[:80]!r} would be over before it begins.", hint=hint)
    return at, lasts

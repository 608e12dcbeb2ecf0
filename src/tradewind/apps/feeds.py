"""Updates of stock tickers with known faults, and the alarms that these faults must raise. (Aurora's feed alarms.)

Two providers report the same tickers of two exchanges. A fast ticker updates every 2.5 seconds or so and a slow one
every 30, never later than nine tenths of what is allowed. Then faults take updates away: single tickers fall silent, an
exchange does in both feeds, a feed does as a whole, and in the end all feeds close. Each fault lasts longer than its
tickers may be silent, so each silence raises an alarm, and nothing else does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tradewind.algebra.times import parse_timestamp
from tradewind.apps.expectation import Expectation, Row
from tradewind.apps.folder import cuts_between, lay_out, scaled, write_rows
from tradewind.apps.rehome import at_one_site
from tradewind.frontends.deployment.deployment import Deployment

FEEDS = {"reuters": "Reuters", "comstock": "Comstock"}
EXCHANGES = ("NYSE", "NASDAQ")
SECOND = 1_000_000
START = parse_timestamp("2026-01-05T14:30:00Z")
CLOSE = START + 330 * SECOND
ALLOWED = {"fast": 5 * SECOND, "slow": 60 * SECOND}
"""How long a ticker may be silent: so long or longer is an alarm."""

HIGH = 100
"""Every so many low alarms are a high one."""

_PARTS = 11
_NEVER = np.iinfo(np.int64).min
_ALWAYS = np.iinfo(np.int64).max

Alarm = tuple[int, str, str]
"""When a ticker of an exchange is found to be late."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many tickers there are, and how many of each feed fall silent by themselves: too few for a high alarm."""

    fast: int = 500
    slow: int = 4_000
    silent: int = 60


@dataclass(frozen=True, slots=True)
class Fault:
    """From `start` on and before `stop`, no update comes of what is named; what is not named does not matter."""

    start: int
    stop: int
    feed: str | None = None
    exchange: str | None = None
    ticker: str | None = None

    def __str__(self) -> str:
        what = self.ticker or self.exchange or "everything"
        where = FEEDS[self.feed] if self.feed else "both feeds"
        end = f" to {(self.stop - START) / SECOND:.1f}" if self.stop != _ALWAYS else " on"
        return f"{what} of {where} is silent from second {(self.start - START) / SECOND:.1f}{end}"


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """The fast or the slow tickers of a feed, and the times at which each would update if nothing failed."""

    feed: str
    kind: str
    tickers: NDArray[np.str_]
    exchanges: NDArray[np.str_]
    times: NDArray[np.int64]

    def struck(self, fault: Fault) -> NDArray[np.bool_]:
        """Which tickers a fault silences."""
        named = np.full(len(self.tickers), fault.feed in (None, self.feed))
        if fault.exchange is not None:
            named &= self.exchanges == fault.exchange
        if fault.ticker is not None:
            named &= self.tickers == fault.ticker
        return named

    def heard(self, faults: Iterable[Fault]) -> NDArray[np.bool_]:
        """Which updates come in spite of the faults."""
        found = np.ones(self.times.shape, dtype=np.bool_)
        for fault in faults:
            inside = (self.times >= fault.start) & (self.times < fault.stop)
            found &= ~(inside & self.struck(fault)[:, None])
        return found


def prepare(folder: Path, seed: int, scale: float) -> tuple[Deployment, Expectation]:
    """Files and expectation at a scale (1: 500 fast and 4000 slow tickers), and the deployment that asks about them."""
    full = Size()
    return write(folder, Size(scaled(full.fast, scale, 2), scaled(full.slow, scale, 2)), seed)


def write(folder: Path, size: Size, seed: int) -> tuple[Deployment, Expectation]:
    """Make the updates of all feeds, write them below a folder, and say which alarms they must raise."""
    found = lay_out("feed_alarms.yaml", folder)
    draw = np.random.default_rng(seed)
    boards = make_boards(size, draw)
    faults = make_faults(boards, size, draw)
    cuts = cuts_between(START, CLOSE, _PARTS)
    rows = 0
    for board in boards:
        stream = f"{board.feed}_{board.kind}"
        [origin] = found.streams[stream].origins
        rows += write_rows(found, stream, origin, _updates(board, faults, draw), draw=draw, cuts=cuts)
    outages = tuple(str(fault) for fault in faults if fault.ticker is None)
    alone = sum(fault.ticker is not None for fault in faults)
    story = (f"{alone} times, a single ticker of one feed falls silent for a while", *outages)
    return at_one_site(found, "desk"), Expectation(answers(boards, faults), rows, story)


def make_boards(size: Size, draw: np.random.Generator) -> list[Board]:
    """Each feed's fast and slow tickers; both feeds have the same ones."""
    names = np.array([_name(number) for number in range(size.fast + size.slow)])
    exchanges = draw.choice(EXCHANGES, len(names))
    parts = {"fast": slice(0, size.fast), "slow": slice(size.fast, None)}
    return [
        Board(feed, kind, names[part], exchanges[part], _turns(len(names[part]), ALLOWED[kind], draw))
        for feed in FEEDS
        for kind, part in parts.items()
    ]


def _name(number: int) -> str:
    """Four letters for each number: AAAA, AAAB and so on."""
    return "".join(chr(ord("A") + number // 26**place % 26) for place in (3, 2, 1, 0))


def _turns(tickers: int, allowed: int, draw: np.random.Generator) -> NDArray[np.int64]:
    """Times on a grid of half of what is allowed, each moved by less than half a step: at most 1.8 steps apart."""
    step = allowed // 2
    count = (CLOSE - START) // step + 1
    places = draw.uniform(0.5, 1.5, (tickers, 1)) + np.arange(count) + draw.uniform(-0.4, 0.4, (tickers, count))
    turns: NDArray[np.int64] = START + (places * step).astype(np.int64)
    return turns


def make_faults(boards: list[Board], size: Size, draw: np.random.Generator) -> list[Fault]:
    """Single tickers first, then an exchange, then a feed, and in the end everything."""
    found = []
    for board in boards:
        allowed = ALLOWED[board.kind]
        for ticker in draw.choice(board.tickers, min(size.silent, len(board.tickers)) // 2, replace=False).tolist():
            start = START + int(draw.integers(60 * SECOND, 110 * SECOND))
            length = allowed + int(draw.integers(allowed // 10, 30 * SECOND))
            found.append(Fault(start, start + length, feed=board.feed, ticker=ticker))
    outage = START + int(draw.integers(130 * SECOND, 140 * SECOND))
    found.append(Fault(outage, outage + 70 * SECOND, exchange=str(draw.choice(EXCHANGES))))
    outage = START + int(draw.integers(230 * SECOND, 240 * SECOND))
    found.append(Fault(outage, outage + 70 * SECOND, feed=str(draw.choice(list(FEEDS)))))
    found.append(Fault(CLOSE, _ALWAYS))
    return found


def _updates(board: Board, faults: list[Fault], draw: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    heard = board.heard(faults)
    rows = np.nonzero(heard)[0]
    walk = draw.normal(0, 0.001, board.times.shape).cumsum(axis=1)
    prices = np.round(draw.uniform(5, 500, (len(board.tickers), 1)) * np.exp(walk), 2)
    return {
        "ts": board.times[heard],
        "ticker": board.tickers[rows],
        "exchange": board.exchanges[rows],
        "price": prices[heard],
    }


def answers(boards: list[Board], faults: list[Fault]) -> dict[str, Counter[Row]]:
    """All six outputs: per feed the low alarms before its first high one, and the high ones per feed and exchange."""
    by_feed: dict[str, list[Alarm]] = {feed: [] for feed in FEEDS}
    for board in boards:
        by_feed[board.feed] += low_alarms(board, faults)
    everywhere = [alarm for alarms in by_feed.values() for alarm in alarms]
    found: dict[str, Counter[Row]] = {}
    for feed, alarms in by_feed.items():
        found[f"{feed}_low"] = Counter(sorted(alarms)[: HIGH - 1])
        found[f"{feed}_high"] = _high_alarms(FEEDS[feed], alarms)
    for exchange in EXCHANGES:
        found[f"{exchange.lower()}_high"] = _high_alarms(exchange, [a for a in everywhere if a[2] == exchange])
    return found


def low_alarms(board: Board, faults: list[Fault]) -> set[Alarm]:
    """One for each fault and ticker, when the last update before the fault is as old as is allowed.

    Faults with no update between them are one silence, with one alarm.
    """
    heard = board.heard(faults)
    found: set[Alarm] = set()
    for fault in faults:
        last = np.where(heard & (board.times < fault.start), board.times, _NEVER).max(axis=1)
        late = board.struck(fault) & (last != _NEVER)
        times = last[late] + ALLOWED[board.kind]
        found.update(zip(times.tolist(), board.tickers[late].tolist(), board.exchanges[late].tolist(), strict=True))
    return found


def _high_alarms(cause: str, alarms: list[Alarm]) -> Counter[Row]:
    return Counter((time, cause, HIGH) for time, *_ in sorted(alarms)[HIGH - 1 :: HIGH])

"""The auction market of the Nexmark benchmark: persons come, open auctions, and bid on those of others.

Of fifty events one is a new person, three are new auctions and forty-six are bids. A few sellers, bidders and auctions
are hot: they take part in most of what happens, until newer ones take their place. Events arise at an even pace and
arrive out of order, each by less than the market's `jitter`. Everything follows from a seed, and a longer market begins
with the events of a shorter one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.times import parse_timestamp
from tradewind.errors import InputError

START = parse_timestamp("2026-01-01T12:00:00Z")
LONGEST = 3_600_000_000
"""No auction is open for longer than this, an hour: queries may rely on it to forget old bids."""

SCHEMAS: Mapping[str, Schema] = {
    "person": parse_schema(
        "id BIGINT, name STRING, email STRING, city STRING, state STRING, dateTime TIMESTAMP", time="dateTime"
    ),
    "auction": parse_schema(
        "id BIGINT, itemName STRING, initialBid BIGINT, reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP, "
        "seller BIGINT, category BIGINT",
        time="dateTime",
    ),
    "bid": parse_schema(
        "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP", time="dateTime"
    ),
}
"""The three streams, as deployment files declare them."""

_SECOND = 1_000_000
_CYCLE, _AUCTIONS = 50, 3
_FIRST_PERSON, _FIRST_AUCTION, _FIRST_CATEGORY, _CATEGORIES = 1_000, 1_100, 10, 5
_FIRST_NAMES = ("Ada", "Boris", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hanna", "Ivo", "Jaya", "Kofi", "Lena")
_LAST_NAMES = ("Abel", "Brandt", "Costa", "Dunn", "Eriksen", "Fofana", "Gupta", "Hoxha", "Ito", "Jansen", "Kovac")
_HOMES = (
    ("Phoenix", "AZ"), ("Tucson", "AZ"), ("Los Angeles", "CA"), ("San Francisco", "CA"), ("Boise", "ID"),
    ("Nampa", "ID"), ("Bend", "OR"), ("Portland", "OR"), ("Redmond", "WA"), ("Seattle", "WA"), ("Cheyenne", "WY"),
)  # fmt: skip
_ITEMS = ("atlas", "bicycle", "cello", "drill", "easel", "figurine", "guitar", "hammock", "inkwell", "jacket", "kettle")
_CHANNELS = ("web", "app", "mail", "partner")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Market:
    """What the market looks like: how fast it is, how far out of order, and who takes part at one time."""

    events_per_second: int = 100
    jitter: int = 1 * _SECOND
    open_auctions: int = 100
    active_people: int = 1_000
    hot_every: int = 20
    """One in so many persons and auctions is a hot one, and the newest of them draws the others."""
    ahead: int = 5
    """Sellers and auctions may be named before they exist, up to so many: their events are still to come."""

    def __post_init__(self) -> None:
        least = {"events_per_second": 1, "jitter": 0, "open_auctions": 1, "active_people": 1, "hot_every": 2}
        for name, limit in {**least, "ahead": 0}.items():
            if getattr(self, name) < limit:
                raise InputError(f"a market's {name} is {limit} or more, not {getattr(self, name)}.")


USUAL = Market()


class _Dice:
    """Random numbers, each call's its own sequence, so that more events do not change the first ones."""

    def __init__(self, seed: int, stream: int) -> None:
        self._seeds = np.random.SeedSequence([seed, stream])

    def share(self, count: int) -> npt.NDArray[np.float64]:
        """Numbers from 0 to 1, without 1."""
        return np.random.default_rng(self._seeds.spawn(1)[0]).random(count)

    def below(self, limit: Numbers | int, count: int) -> Numbers:
        """Whole numbers from 0 to the limits, without them."""
        return (self.share(count) * limit).astype(np.int64)

    def one_of(self, words: tuple[str, ...], count: int) -> Any:
        """Words, all as likely."""
        return pa.array(words).take(pa.array(self.below(len(words), count)))


def events(count: int, seed: int, market: Market = USUAL) -> dict[str, Any]:
    """The first `count` events of the market as Arrow tables by stream, each in the order of arrival."""
    if count < 1:
        raise InputError(f"a market has an event or more, not {count}.")
    if seed < 0:
        raise InputError(f"a seed is 0 or more, not {seed}.")
    number = np.arange(count, dtype=np.int64)
    place = number % _CYCLE
    arrives = _times(number, market) + _Dice(seed, 0).below(market.jitter, count)
    made = {
        "person": (place == 0, _persons),
        "auction": ((place >= 1) & (place <= _AUCTIONS), _auctions),
        "bid": (place > _AUCTIONS, _bids),
    }
    found = {}
    for stream, (name, (chosen, columns)) in enumerate(made.items(), start=1):
        table = _table(name, columns(number[chosen], _Dice(seed, stream), market))
        found[name] = table.take(pa.array(np.argsort(arrives[chosen], kind="stable")))
    return found


def rows(tables: Mapping[str, Any]) -> dict[str, list[tuple[Any, ...]]]:
    """The same events as plain rows, in the same order; times are microseconds since 1970."""
    return {name: list(zip(*map(_plain, table.columns), strict=True)) for name, table in tables.items()}


def _plain(column: Any) -> list[Any]:
    return list((column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist())


_ARROW = {"BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us", tz="UTC")}


def _table(name: str, columns: dict[str, Any]) -> Any:
    fields = [(column, _ARROW[type_.name]) for column, type_ in SCHEMAS[name].columns]
    return pa.table([pa.array(columns[column]).cast(type_) for column, type_ in fields], schema=pa.schema(fields))


def _times(number: Numbers, market: Market) -> Numbers:
    return START + number * _SECOND // market.events_per_second


def _persons(number: Numbers, dice: _Dice, market: Market) -> dict[str, Any]:
    count = len(number)
    ids = _FIRST_PERSON + number // _CYCLE
    first, last = dice.one_of(_FIRST_NAMES, count), dice.one_of(_LAST_NAMES, count)
    home = dice.below(len(_HOMES), count)
    cities, states = (pa.array(side).take(pa.array(home)) for side in zip(*_HOMES, strict=True))
    return {
        "id": ids,
        "name": _joined(first, " ", last),
        "email": _joined(pc.utf8_lower(first), ".", _text(ids), "@mail.example"),
        "city": cities,
        "state": states,
        "dateTime": _times(number, market),
    }


def _auctions(number: Numbers, dice: _Dice, market: Market) -> dict[str, Any]:
    count = len(number)
    ids = _FIRST_AUCTION + number // _CYCLE * _AUCTIONS + number % _CYCLE - 1
    opens = _times(number, market)
    initial = _prices(dice, count)
    # An auction ends just when a later event arises: on average so late that `open_auctions` are open at a time.
    usual = market.open_auctions * _CYCLE // _AUCTIONS
    expires = _times(number + 1 + dice.below(2 * usual, count), market)
    return {
        "id": ids,
        "itemName": _joined(dice.one_of(_ITEMS, count), " ", _text(ids)),
        "initialBid": initial,
        "reserve": initial + _prices(dice, count),
        "dateTime": opens,
        "expires": np.minimum(expires, opens + LONGEST),
        "seller": _FIRST_PERSON + _drawn(number // _CYCLE, market.active_people, 0.75, dice, market),
        "category": _FIRST_CATEGORY + dice.below(_CATEGORIES, count),
    }


def _bids(number: Numbers, dice: _Dice, market: Market) -> dict[str, Any]:
    count = len(number)
    newest = number // _CYCLE * _AUCTIONS + _AUCTIONS - 1
    auctions = _FIRST_AUCTION + _drawn(newest, market.open_auctions, 0.5, dice, market)
    channels = dice.one_of(_CHANNELS, count)
    return {
        "auction": auctions,
        # One further on, so that the hot bidder is not the hot seller.
        "bidder": _FIRST_PERSON + 1 + _drawn(number // _CYCLE, market.active_people, 0.75, dice, market),
        "price": _prices(dice, count),
        "channel": channels,
        "url": _joined("https://market.example/auction/", _text(auctions), "?via=", channels),
        "dateTime": _times(number, market),
    }


def _drawn(newest: Numbers, recent: int, hot: float, dice: _Dice, market: Market) -> Numbers:
    """Numbers of persons or auctions: with the chance `hot` the newest hot one, else one of the most recent."""
    count = len(newest)
    oldest = np.maximum(newest - recent + 1, 0)
    usual = oldest + dice.below(newest - oldest + 1 + market.ahead, count)
    return np.where(dice.share(count) < hot, newest - newest % market.hot_every, usual)


def _prices(dice: _Dice, count: int) -> Numbers:
    """Cents, as likely between 1 and 10 dollars as between 100,000 and a million; round numbers, so that some tie."""
    exponent = 2 + dice.below(6, count)
    return (10 + dice.below(90, count)) * 10 ** (exponent - 1)


def _text(numbers: Numbers) -> Any:
    return pa.array(numbers).cast(pa.string())


def _joined(*parts: Any) -> Any:
    return pc.binary_join_element_wise(*parts, "")

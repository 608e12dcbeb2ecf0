"""What is expected of a plan, as plain data and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradewind.runtime.expected import Account, Expectations, Expected, Hop


def expectations_to_json(expected: Expectations) -> dict[str, Any]:
    """Plain data."""
    return {
        "channels": {name: list(one) for name, one in expected.channels.items()},
        "answers": {name: list(one) for name, one in expected.answers.items()},
    }


def expectations_from_json(data: Mapping[str, Any]) -> Expectations:
    """What was written, checked anew."""
    return Expectations(_expected(data.get("channels", {})), _expected(data.get("answers", {})))


def _expected(data: Mapping[str, Any]) -> dict[str, Expected]:
    return {str(name): Expected(float(rows), float(size)) for name, (rows, size) in data.items()}


def account_to_json(account: Account) -> dict[str, Any]:
    """Plain data; links are lists of two sites, since JSON's keys are texts."""
    return {
        "predicted": _listed(account.predicted),
        "measured": _listed(account.measured),
        "since": _listed({hop: dict(some) for hop, some in account.since.items()}),
        "shipped": _listed(account.shipped),
        "seconds": account.seconds,
    }


def account_from_json(data: Mapping[str, Any]) -> Account:
    """What was written, checked anew."""
    return Account(
        {hop: float(size) for hop, size in _hops(data, "predicted")},
        {hop: int(size) for hop, size in _hops(data, "measured")},
        {hop: {str(name): float(one) for name, one in some.items()} for hop, some in _hops(data, "since")},
        {hop: float(size) for hop, size in _hops(data, "shipped")},
        float(data.get("seconds", 0.0)),
    )


def _listed(some: Mapping[Hop, Any]) -> list[list[Any]]:
    return [[*hop, value] for hop, value in some.items()]


def _hops(data: Mapping[str, Any], key: str) -> list[tuple[Hop, Any]]:
    return [((str(start), str(end)), value) for start, end, value in data.get(key, [])]

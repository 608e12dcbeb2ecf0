"""What a fragment remembers when it is cut into parts, and when its shares are made one again.

The shares go on where the fragment stood on its channels, and what brings them together goes on with what it had told.
Shares are made one where all of them stand at the same place, and all that they said was read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tradewind.errors import RunError
from tradewind.fragments.deployed import Channel, Fragment
from tradewind.fragments.parting import Parting
from tradewind.spark.dealing import Deal, Keeper, dealt
from tradewind.spark.memory import Commit, last_commit
from tradewind.spark.session import Session

_TOLD = ("totals", "read")
"""What is noted of what was delivered, and read, so far."""


def parted(
    spark: Session, parting: Parting, memory: Path, channels: Mapping[str, Channel], folder: Path
) -> dict[str, Path]:
    """Deal out what a fragment remembers to its shares and to what brings them together: the folders of all of them, by
    name, below another one. `channels` are those of the shares.
    """
    commit = last_commit(memory)
    whole = _keeper(parting.whole, memory)
    found = {one.name: folder / one.name for one in (*parting.shares, parting.together)}
    for number, one in enumerate(parting.shares):
        deal = Deal(whole, parting.twins(number), parting.only(number))
        notes = {"marks": commit.notes.get("marks", {}), **_stood(commit)}
        dealt(spark, _keeper(one, found[one.name] / "memory"), [deal], commit.batch, _counted(notes, commit))
    # All shares stand where the fragment stood, and so does what they are about to say.
    stood = _least(commit.notes.get("marks", {}).values())
    origins = {name: [f"{stream}/{site}" for stream, site in channels[name].origins] for name in parting.channel_names}
    marks = {name: {one: stood[one] for one in some if one in stood} for name, some in origins.items()}
    notes = {"marks": marks, "positions": {}, **_told(commit)}
    rest = Deal(whole, parting.after(), rest=True)
    target = _keeper(parting.together, found[parting.together.name] / "memory")
    dealt(spark, target, [rest], commit.batch, _counted(notes, commit))
    return found


def gathered(spark: Session, parting: Parting, memories: Mapping[str, Path], folder: Path) -> Path:
    """Put together what shares and what brings them together remember, by name: the folder of the fragment, below
    another one.
    """
    shares = [last_commit(memories[one.name]) for one in parting.shares]
    positions = [one.notes.get("positions", {}) for one in shares]
    if any(one != positions[0] for one in positions):
        raise RunError(f"the shares of {parting.whole.name!r} do not stand at the same place.")
    after = last_commit(memories[parting.together.name])
    deals = [
        Deal(_keeper(one, memories[one.name]), {new: old for old, new in parting.twins(number).items()})
        for number, one in enumerate(parting.shares)
    ]
    back = {new: old for old, new in parting.after().items()}
    deals.append(Deal(_keeper(parting.together, memories[parting.together.name]), back, rest=True))
    known = {name for one in shares for name in one.notes.get("marks", {})}
    marks = {name: _least(one.notes.get("marks", {}).get(name, {}) for one in shares) for name in known}
    last = max((*shares, after), key=lambda one: one.batch)
    notes = {"marks": marks, **_stood(shares[0]), **_told(after), "begins": last.batch + 1}
    if "buckets" in after.notes:
        notes["buckets"] = after.notes["buckets"]
    target = folder / parting.whole.name
    dealt(spark, _keeper(parting.whole, target / "memory"), deals, last.batch, notes)
    return target


def _keeper(fragment: Fragment, memory: Path) -> Keeper:
    return Keeper(fragment.graph, fragment.inputs, memory)


def _counted(notes: Mapping[str, Any], commit: Commit) -> dict[str, Any]:
    """Notes of one that goes on after a commit; Spark counts its batches anew."""
    buckets = {"buckets": commit.notes["buckets"]} if "buckets" in commit.notes else {}
    return {**notes, "begins": commit.batch + 1, **buckets}


def _stood(commit: Commit) -> dict[str, Any]:
    """How far channels were read, and how many rows came by them."""
    return {"positions": commit.notes.get("positions", {}), "taken": commit.notes.get("taken", {})}


def _told(commit: Commit) -> dict[str, Any]:
    return {key: commit.notes[key] for key in _TOLD if key in commit.notes}


def _least(some: Any) -> dict[str, float]:
    """Of each origin the least mark."""
    found: dict[str, float] = {}
    for marks in some:
        for origin, mark in marks.items():
            found[origin] = min(found.get(origin, mark), mark)
    return found

"""What a state folder belongs to: a run goes on only from its own state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tradewind.algebra.graph import Graph
from tradewind.errors import InputError

_FILE = "run.json"
_BEFORE = ("measured.json", "measured.partial")
"""What a run that did not get as far as that may have left."""


def identity(graph: Graph, horizon: int | None, fragments: Sequence[str] | None = None) -> dict[str, Any]:
    """What must be the same for state to be of use: each query's operators, how late rows may come, and, at several
    sites, what runs where.
    """
    queries = {name: Graph(((name, node),)).to_json() for name, node in graph.results}
    placed = {} if fragments is None else {"fragments": sorted(fragments)}
    return {"format": 1, "queries": queries, "horizon": horizon, **placed}


def claim(folder: Path, wanted: dict[str, Any]) -> None:
    """Take a state folder for a run; refuse one that belongs to another, and say what differs."""
    path = folder / _FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        reclaim(folder, wanted)
        return
    found = json.loads(path.read_text())
    if found == json.loads(json.dumps(wanted)):
        return
    raise InputError(
        f"its state is of another run: {'; '.join(_changes(found, wanted))}.",
        where=str(folder),
        hint="--fresh starts again and removes what was delivered; or undo the change.",
    )


def require_ours(folder: Path) -> None:
    """Refuse to take a folder for old state, and to remove it, that no run has claimed."""
    others = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
    if _FILE not in others and (strange := [name for name in others if name not in _BEFORE]):
        raise InputError(
            f"this is no state of a run, and holds other things: {', '.join(strange[:3])}.",
            where=str(folder),
            hint="nothing was removed; name a folder that does not exist yet, or that an earlier run has used.",
        )


def reclaim(folder: Path, wanted: dict[str, Any]) -> None:
    """Write down what a state folder belongs to from now on."""
    path = folder / _FILE
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(wanted))
    partial.replace(path)


def _changes(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    old, new = found.get("queries", {}), wanted["queries"]
    said = [f"query {name!r} {_how(old[name], new[name])}" for name in old if name in new and old[name] != new[name]]
    said += [f"query {name!r} is gone" for name in old if name not in new]
    said += [f"query {name!r} is new" for name in new if name not in old]
    if found.get("horizon") != wanted["horizon"]:
        said.append("`revise_within` has changed")
    if not said and found.get("fragments") != wanted.get("fragments"):
        said.append("what runs where has changed")
    return said or ["it was written by another version"]


def _how(old: dict[str, Any], new: dict[str, Any]) -> str:
    """In which operator two versions of a query differ first."""
    before, after = old["nodes"], new["nodes"]
    for one, two in zip(before, after, strict=False):
        if one == two:
            continue
        if one.get("kind") != two.get("kind"):
            return f"has changed: {one['kind']} became {two['kind']}"
        parts = [key for key in {**one, **two} if one.get(key) != two.get(key)]
        shown = ", ".join(f"{key} was {_short(one.get(key))}, is {_short(two.get(key))}" for key in parts[:2])
        return f"has changed in its {one['kind']}: {shown}"
    return f"has changed: it had {len(before)} operators and has {len(after)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}…"

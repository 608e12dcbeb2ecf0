"""What a state folder belongs to: a run goes on only from its own state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from tradewind.algebra.graph import Graph
from tradewind.errors import InputError

_FILE = "run.json"
_BEFORE = ("measured.json", "measured.partial")
"""What a run that did not get as far as that may have left."""
_AROUND, _LONGEST = 8, 60
"""So many characters are shown beside a difference, and of a difference at most."""


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
    changed: dict[str, list[str]] = {}
    for name in old:
        if name in new and old[name] != new[name]:
            changed.setdefault(_how(old[name], new[name]), []).append(repr(name))
    said = [f"{'query' if len(names) == 1 else 'queries'} {', '.join(names)} {how}" for how, names in changed.items()]
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
            return f"changed: {one['kind']} became {two['kind']}"
        parts = [key for key in {**one, **two} if one.get(key) != two.get(key)]
        shown = ", ".join(f"{key} {_difference(one.get(key), two.get(key))}" for key in parts[:2])
        return f"changed in the {one['kind']}: {shown}"
    return f"changed: {len(before)} operators became {len(after)}"


def _difference(old: Any, new: Any) -> str:
    """What a value was and is; of long texts the part in which they differ, and a little around it.

    >>> _difference("a", "b")
    'was a, is b'
    >>> before = {"columns": "ts TIMESTAMP, product STRING, qty INT, price DECIMAL(10,2), place STRING, note STRING"}
    >>> _difference(before, {"columns": before["columns"].replace("INT", "BIGINT")})
    'was …NG, qty INT, pri…, is …NG, qty BIGINT, pri…'
    """
    texts = [value if isinstance(value, str) else json.dumps(value) for value in (old, new)]
    start = max(0, _same(*texts) - _AROUND)
    rest = [text[start:] for text in texts]
    same = _same(*(text[::-1] for text in rest))
    ends = [len(text) - max(0, same - _AROUND) for text in rest]
    was, now = (_cut(text, start > 0, end) for text, end in zip(rest, ends, strict=True))
    return f"was {was}, is {now}"


def _cut(text: str, is_begun: bool, end: int) -> str:
    end = min(end, _LONGEST)
    return f"{'…' * is_begun}{text[:end]}{'…' * (end < len(text))}"


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

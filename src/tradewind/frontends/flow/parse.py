"""What a box says before anything is built: which kind it is, what it reads, and which ways lead out of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tradewind.errors import UnknownNameError, unknown
from tradewind.frontends.flow.box import Box
from tradewind.frontends.flow.fields import BOX_NAME
from tradewind.frontends.flow.findings import Finding, Path, finding, likely, shown
from tradewind.frontends.flow.kinds import BOXES
from tradewind.frontends.flow.order import circles, way_of
from tradewind.frontends.flow.superboxes import SuperboxKeys, SuperboxUse

NAME_HINT = "a letter or '_' first, then letters, digits, '_' and '-', at most 63 in all; no '.'."


def model_of(
    data: Any, path: Path, taken: Collection[str], superboxes: Mapping[str, SuperboxKeys], failed: Collection[str]
) -> type[Box] | Finding | None:
    """The model of the box whose name ends the path, or what is wrong; None where its kind is known to be broken."""
    name = str(path[-1])
    if not re.fullmatch(BOX_NAME, name):
        return Finding(path, f"{shown(name)} cannot be the name of a box.", NAME_HINT, at_key=True)
    if name.lower() in taken:
        what = f"a stream or shared box is named {name!r} already."
        return Finding(path, what, "give the box another name.", at_key=True)
    if not isinstance(data, Mapping):
        hint = f"{{box: KIND, …}}, where KIND is one of {', '.join(BOXES)}."
        return Finding(path, f"a box is a mapping, not {shown(data)}.", hint, at_key=True)
    kind = data.get("box")
    if not isinstance(kind, str):
        return Finding(path, "a box says what it does under `box`.", f"one of {', '.join(BOXES)}.", at_key=True)
    if kind in superboxes:
        return SuperboxUse
    if kind in BOXES or kind in failed:
        return BOXES.get(kind)
    return finding((*path, "box"), unknown("kind of box", kind, [*BOXES, *superboxes]))


def arrows(
    references: Iterable[tuple[str, str]], path: Path, boxes: Collection[str], nodes: Collection[str],
    failed: Collection[str],
) -> tuple[str, ...] | Finding | None:  # fmt: skip
    """The boxes and streams that the box at a path reads, or what is wrong; None where one is known to be broken."""
    found: list[str] = []
    for key, reference in references:
        owner = reference if reference in boxes else reference.partition(".")[0]
        if owner in boxes:
            found.append(owner)
        elif reference in nodes:
            found.append(reference)
        elif reference in failed:
            return None
        else:
            known = likely(reference, [*nodes, *boxes])
            return finding((*path, key), unknown("stream or box", reference, known))
    return tuple(found)


def in_circles(reads: Mapping[str, tuple[str, ...]], path: Path) -> list[Finding]:
    """What is wrong with boxes below a path that read one another in a circle."""
    hint = "a flow goes one way; take one of these arrows out."
    return [
        Finding(
            (*path, circle[0], "in"),
            f"the boxes read one another in a circle: {way_of(circle)}.",
            hint,
        )
        for circle in circles(reads)
    ]


def no_way_out(reference: str, known: Iterable[str]) -> UnknownNameError:
    """Says that a box is there but has no such way out."""
    box, _, way = reference.partition(".")
    ways = [name for name in known if name.startswith(f"{box}.")]
    if way and ways:
        return unknown("route", reference, ways)
    if ways:
        return UnknownNameError(
            f"{box!r} is a split.", hint=f"read one of its routes: {', '.join(ways)}.", candidates=ways
        )
    return UnknownNameError(f"{box!r} is not a split and has no route {way!r}.", hint=f"read {box!r}.")

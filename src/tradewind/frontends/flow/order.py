"""In which order boxes can be built, and which of them read one another in a circle."""

from __future__ import annotations

from collections.abc import Mapping


def inputs_first(reads: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The boxes that do not wait for a circle, each after those it reads; names that are no boxes are there already.

    >>> inputs_first({"a": ("b",), "b": ("ticks",), "x": ("y",), "y": ("x",)})
    ['b', 'a']
    """
    waiting = {name: {other for other in others if other in reads} for name, others in reads.items()}
    readers: dict[str, list[str]] = {name: [] for name in reads}
    for name, others in waiting.items():
        for other in others:
            readers[other].append(name)
    ready = [name for name, others in waiting.items() if not others]
    for name in ready:  # grows while it is walked
        for reader in readers[name]:
            waiting[reader].discard(name)
            if not waiting[reader]:
                ready.append(reader)
    return ready


def way_of(circle: list[str]) -> str:
    """A circle as a sentence shows it: from its first box back to it.

    >>> way_of(["a", "b"])
    'a -> b -> a'
    """
    names = circle if len(circle) <= 12 else [*circle[:6], "…", *circle[-5:]]
    return " -> ".join([*names, circle[0]])


def circles(reads: Mapping[str, tuple[str, ...]]) -> list[list[str]]:
    """Each circle once, in the order in which its boxes read one another.

    >>> circles({"a": ("b",), "b": ("c",), "c": ("a",), "d": ("a",)})
    [['a', 'b', 'c']]
    """
    stuck = set(reads) - set(inputs_first(reads))
    found: list[list[str]] = []
    seen: set[str] = set()
    for start in reads:
        path: list[str] = []
        name: str | None = start if start in stuck else None
        while name is not None and name not in seen:
            seen.add(name)
            path.append(name)
            name = next((other for other in reads[name] if other in stuck), None)
        if name in path:
            found.append(path[path.index(str(name)) :])
    return found

"""How a deadline speaks of contents: sums of milliseconds over hops that are within it whenever it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradewind.placement.choices import Choices


def chains(choices: Choices, goal: int) -> Sequence[frozenset[int]] | None:
    """For each base stream below a goal, the contents that hold it.

    Of these, any derivation uses some that lie on one path, from the stream to the goal, so the latency of that path is
    the sum over all their hops. None where that is not so: where a derivation uses a stream twice, or where two
    derivations of a content use different streams.
    """
    bases: dict[int, frozenset[int]] = {}
    needed = choices.needed(goal)
    for number in needed:
        recipes = [choices.recipes[way] for way in choices.ways[number]]
        used = [[base for one in recipe.inputs for base in bases[one]] for recipe in recipes]
        found = set(map(frozenset, used))
        if choices.contents[number].origins or not recipes:
            found.add(frozenset({number}))
        bases[number] = found.pop()
        if found or any(len(some) > len(bases[number]) for some in used):
            return None
    return [frozenset(one for one in needed if base in bases[one]) for base in sorted(bases[goal])]


def weights(choices: Choices, goal: int) -> list[Mapping[str, float]]:
    """Factors for contents, by key: hops' milliseconds, each times its content's factor, add up to no more than the
    latency of a plan. One set of factors for each path where paths are known; else one set of bytes per second, as
    shares of the most that can be on their way side by side.
    """
    paths = chains(choices, goal)
    if paths is not None:
        return [{choices.contents[one].key: 1.0 for one in path} for path in paths]
    most = widest(choices, goal)
    some = (choices.contents[one] for one in choices.needed(goal))
    return [{content.key: content.bytes_per_second / most for content in some}]


def widest(choices: Choices, goal: int) -> float:
    """The most bytes per second that can be on their way side by side, whatever the derivation."""
    found: dict[int, float] = {}
    for number in choices.needed(goal):
        recipes = [choices.recipes[way] for way in choices.ways[number]]
        inputs = (sum(found[one] for one in recipe.inputs) for recipe in recipes)
        found[number] = max([choices.contents[number].bytes_per_second, *inputs])
    return found[goal] or 1.0

"""One tree of recipes out of all choices: the one whose operators weigh least, wherever they will run."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from tradewind.placement.choices import Choices, Recipe


def lightest_tree(choices: Choices, goal: int, weight: Callable[[Recipe], float]) -> tuple[Recipe, ...] | None:
    """The recipes of the lightest tree that makes a content, inputs first; None where no tree has a finite weight.

    What arises by itself needs no recipe. A content that a tree uses twice is weighed twice, and of equal trees the
    one whose recipes come first is taken.
    """
    weights = [inf] * len(choices.contents)
    chosen: dict[int, Recipe] = {}
    for number in choices.needed(goal):
        if choices.contents[number].origins:
            weights[number] = 0.0
            continue
        for way in choices.ways[number]:
            recipe = choices.recipes[way]
            found = weight(recipe) + sum(weights[i] for i in recipe.inputs)
            if found < weights[number]:
                weights[number], chosen[number] = found, recipe
    if weights[goal] == inf:
        return None
    wanted = {goal}
    for number in range(goal, -1, -1):
        if number in wanted and number in chosen:
            wanted.update(chosen[number].inputs)
    return tuple(chosen[number] for number in sorted(wanted) if number in chosen)

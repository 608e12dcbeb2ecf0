"""All the ways to make what is wanted: contents, and the recipes that make them from other contents.

A content is what a stream holds, whoever makes it and however; the same rows are the same content, with one key, in
every query. A recipe is one operator that makes a content from others. Join orders, filters before or after a join,
partial aggregates merged on the way or at the end, a coarse grouping made from a finer one that runs already: each is
one more recipe, so every planner chooses among all of them alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tradewind.algebra.operators.base import Operator
from tradewind.errors import InternalError

Sites = frozenset[int]


@dataclass(frozen=True, slots=True)
class Content:
    """What a stream holds, and how much of it flows.

    `origins` are the sites where it arises by itself; `within`, where it is given, are the only sites that it may
    visit, be it only on its way.
    """

    key: str
    bytes_per_second: float
    rows_per_second: float = 0.0
    origins: tuple[int, ...] = ()
    within: Sites | None = None
    label: str = ""
    operator: Operator | None = field(default=None, compare=False)
    """The node that gives it, in one of the ways to make it."""


class Work:
    """What a recipe does: a node, and the nodes below it that stand for the recipe's inputs."""

    def __init__(self, make: Callable[[], Operator], over: Callable[[], tuple[Operator, ...]]) -> None:
        self._make, self._over = make, over

    @cached_property
    def operator(self) -> Operator:
        """The node."""
        return self._make()

    @cached_property
    def over(self) -> tuple[Operator, ...]:
        """The nodes below it that stand for the inputs."""
        return self._over()


@dataclass(frozen=True, slots=True)
class Recipe:
    """One operator: it makes the content number `output` from those in `inputs`, all at one site.

    `cores` is how many cores it keeps busy; `at`, where it is given, are the only sites where it may run. `work` is the
    node itself, made when it is asked for, as most recipes are never chosen; made-up queries have none.
    """

    output: int
    inputs: tuple[int, ...]
    kind: str = "join"
    cores: float = 0.0
    at: Sites | None = None
    work: Work | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False, slots=True)
class Weighed:
    """Some recipes as arrays: the cores of each, where each may run if not everywhere, and, for each number of inputs,
    which of them have so many and which contents these are.
    """

    cores: NDArray[np.float64]
    at: tuple[tuple[int, Sites], ...]
    inputs: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]

    @staticmethod
    def of(recipes: Sequence[Recipe]) -> Weighed:
        """The arrays of some recipes."""
        rows: dict[int, list[int]] = {}
        for row, recipe in enumerate(recipes):
            rows.setdefault(len(recipe.inputs), []).append(row)
        return Weighed(
            np.array([recipe.cores for recipe in recipes], dtype=float),
            tuple((row, recipe.at) for row, recipe in enumerate(recipes) if recipe.at is not None),
            tuple(
                (np.array(some, dtype=np.int64), np.array([recipes[row].inputs for row in some], dtype=np.int64))
                for count, some in sorted(rows.items())
                if count
            ),
        )


@dataclass(frozen=True, eq=False)
class Choices:
    """Contents, inputs before what is made of them, and all recipes."""

    contents: tuple[Content, ...]
    recipes: tuple[Recipe, ...]

    def __post_init__(self) -> None:
        for recipe in self.recipes:
            if any(number >= recipe.output for number in recipe.inputs):
                raise InternalError("a recipe must come after what it is made of.")

    @cached_property
    def ways(self) -> tuple[tuple[int, ...], ...]:
        """For each content, the numbers of the recipes that make it."""
        found: list[list[int]] = [[] for _ in self.contents]
        for number, recipe in enumerate(self.recipes):
            found[recipe.output].append(number)
        return tuple(map(tuple, found))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each content by its key."""
        return {content.key: number for number, content in enumerate(self.contents)}

    @cached_property
    def origins(self) -> dict[str, tuple[int, ...]]:
        """Where the base streams arise, by their keys."""
        return {content.key: content.origins for content in self.contents if content.origins}

    def needed(self, goal: int) -> tuple[int, ...]:
        """The contents that some way to the goal uses, inputs first; the goal is the last."""
        found = self._needed.get(goal)
        if found is None:
            wanted, waiting = {goal}, [goal]
            while waiting:
                for way in self.ways[waiting.pop()]:
                    fresh = [one for one in self.recipes[way].inputs if one not in wanted]
                    wanted.update(fresh)
                    waiting.extend(fresh)
            found = self._needed[goal] = tuple(sorted(wanted))
        return found

    @cached_property
    def _needed(self) -> dict[int, tuple[int, ...]]:
        return {}

    def weighed(self, number: int) -> Weighed:
        """The recipes of a content as arrays, to be weighed at all sites at once."""
        found = self._weighed.get(number)
        if found is None:
            found = self._weighed[number] = Weighed.of([self.recipes[way] for way in self.ways[number]])
        return found

    @cached_property
    def _weighed(self) -> dict[int, Weighed]:
        return {}


def over_part(choices: Choices, sites: Sequence[int]) -> Choices:
    """The choices where there are only some sites, numbered in their order."""
    numbers = {site: number for number, site in enumerate(sites)}

    def kept(some: Sites | None) -> Sites | None:
        return None if some is None else frozenset(numbers[site] for site in some if site in numbers)

    contents = tuple(
        replace(c, origins=tuple(numbers[site] for site in c.origins if site in numbers), within=kept(c.within))
        if c.origins or c.within is not None
        else c
        for c in choices.contents
    )
    return Choices(contents, tuple(r if r.at is None else replace(r, at=kept(r.at)) for r in choices.recipes))


class Gathering:
    """Choices in the making: contents are added once, whoever asks for them."""

    def __init__(self) -> None:
        self._contents: list[Content] = []
        self._numbers: dict[str, int] = {}
        self._recipes: dict[Recipe, None] = {}

    def content(self, content: Content) -> int:
        """The number of a content, which is added if it is new."""
        number = self._numbers.get(content.key)
        if number is None:
            number = self._numbers[content.key] = len(self._contents)
            self._contents.append(content)
        return number

    @property
    def contents(self) -> tuple[Content, ...]:
        """All contents so far."""
        return tuple(self._contents)

    def number(self, key: str) -> int:
        """The number of a content that is known."""
        return self._numbers[key]

    def __getitem__(self, number: int) -> Content:
        return self._contents[number]

    def recipe(self, recipe: Recipe) -> None:
        """Add a way to make a content; a way that is known is not added again."""
        self._recipes.setdefault(recipe)

    def choices(self) -> Choices:
        """All that was gathered, numbered so that inputs come first."""
        order = _inputs_first(len(self._contents), self._recipes)
        place = {old: new for new, old in enumerate(order)}
        recipes = sorted(
            (replace(r, output=place[r.output], inputs=tuple(place[i] for i in r.inputs)) for r in self._recipes),
            key=lambda recipe: recipe.output,
        )
        return Choices(tuple(self._contents[old] for old in order), tuple(recipes))


def _inputs_first(count: int, recipes: Iterable[Recipe]) -> list[int]:
    below: list[set[int]] = [set() for _ in range(count)]
    for recipe in recipes:
        below[recipe.output].update(recipe.inputs)
    done: dict[int, bool] = {}
    order: list[int] = []
    for root in range(count):
        stack = [(root, False)]
        while stack:
            number, ready = stack.pop()
            if ready:
                done[number] = True
                order.append(number)
            elif number not in done:
                done[number] = False
                stack.append((number, True))
                stack.extend((child, False) for child in sorted(below[number]) if not done.get(child))
    return order


def merged(parts: Sequence[Choices]) -> Choices:
    """The choices of several queries as one: equal keys are the same content."""
    whole = Gathering()
    for part in parts:
        numbers = [whole.content(content) for content in part.contents]
        for recipe in part.recipes:
            inputs = tuple(numbers[i] for i in recipe.inputs)
            whole.recipe(replace(recipe, output=numbers[recipe.output], inputs=inputs))
    return whole.choices()

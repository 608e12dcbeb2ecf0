"""A graph's JSON, damaged anywhere, gives an error of ours or a graph, and nothing else."""

import copy
import json
import random

import pytest

from tests.algebra.every import every_kind
from tradewind.algebra.graph import Graph
from tradewind.errors import InputError

JUNK: list = [None, 0, -1, 1.5, "", "x", "source-1", [], {}, [[]], [["a"]], [None], {"a": 1}, True, "((", "a" * 200]


def places(data, path=()) -> list:
    """The path of every value."""
    found = [path]
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += places(value, (*path, key))
    return found


def damaged(data, path, junk):
    """A copy with something else at a path, or, for no path, something else altogether."""
    if not path:
        return junk
    changed = copy.deepcopy(data)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    if junk is JUNK:
        del inner[path[-1]]
    else:
        inner[path[-1]] = junk
    return changed


@pytest.mark.parametrize("chunk", range(8))
def test_damage_is_told(chunk: int) -> None:
    data = json.loads(json.dumps(every_kind().to_json()))
    everywhere = places(data)
    chance = random.Random(chunk)
    told = 0
    for _ in range(250):
        changed = damaged(data, chance.choice(everywhere), chance.choice([*JUNK, JUNK]))
        try:
            Graph.from_json(changed)
        except InputError:
            told += 1
    assert told > 150

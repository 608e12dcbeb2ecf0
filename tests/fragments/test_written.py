"""What runs is the same after it was written as plain data and read again; whatever is wrong with it is said."""

import copy
import functools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fragments.test_cut import EXAMPLES, planned
from tests.placement.random_plans import contents, random_case
from tradewind.errors import InputError
from tradewind.fragments.cut import cut
from tradewind.fragments.deployed import Deployed
from tradewind.fragments.written import from_data, to_data
from tradewind.placement.fusing import fused
from tradewind.placement.many import together

FILES = sorted(EXAMPLES.glob("*.yaml"))


def again(deployed: Deployed) -> Deployed:
    return from_data(json.loads(json.dumps(to_data(deployed))))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_is_the_same_after_it_was_written(file: Path) -> None:
    deployed = planned(file)
    assert again(deployed) == deployed
    assert [one.name for one in again(deployed).fragments] == [one.name for one in deployed.fragments]


def parts_of(data: Any, path: tuple = ()) -> list[tuple]:
    """The place of everything in some plain data."""
    found = [path]
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        found += parts_of(value, (*path, key))
    return found


@functools.cache
def small() -> Any:
    return to_data(planned(FILES[0]))


WRONG = st.sampled_from([None, 7, "x", [], {}, ["x"], {"x": 1}, -1.5, True, "n0"])


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), WRONG)
def test_whatever_is_damaged_is_refused_or_means_something(seed: int, wrong: Any) -> None:
    data = copy.deepcopy(small())
    place = random.Random(seed).choice(parts_of(data)[1:])
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = wrong
    try:
        found = from_data(data)
    except InputError:
        return
    assert again(found) == found


def test_random_plans_are_the_same_after_they_were_written() -> None:
    tried = 0
    for seed in range(40):
        case = random_case(seed)
        if case is None:
            continue
        network, known = case.ground.network, {content.key: content for content in contents(case)}
        plan = fused(together(case.ground, case.asked, case.shared, offers=3).whole, network, known)
        deployed = cut(plan, network, known)
        assert again(deployed) == deployed
        tried += 1
    assert tried > 20

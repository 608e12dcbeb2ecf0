"""The three tiers of the tests: which tests run in each, and how many random cases.

    ./dev test --quick   pure tests: no Spark, no server, no other process
    ./dev test           those, and one test of everything that runs: what a change has to pass
    ./dev test --all     every test, with all of its cases

A test belongs to the middle tier unless it is marked `slow`, and to the quick tier unless it is marked `spark`,
`processes`, `faults` or `slow`. Of a test that is marked `sampled(n)` both run n of its parameters, spread evenly over
all of them. A test that does more when there is time looks at `TIER`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path

import pytest


class Tier(StrEnum):
    """How much of the tests runs."""

    QUICK = "quick"
    MIDDLE = "middle"
    ALL = "all"


VARIABLE = "TRADEWIND_TEST_TIER"
TIER = Tier(os.environ.get(VARIABLE, Tier.ALL))
"""`./dev test` sets it. Tests that are named one by one run whole."""

_LEFT_OUT = {
    Tier.QUICK: {"spark", "processes", "faults", "slow"},
    Tier.MIDDLE: {"slow"},
    Tier.ALL: set(),
}

_HERE = Path(__file__).parent
_PROCESSES = {"backbone", "cluster", "faults", "sites", "runtime", "web", "apps", "house"}
"""Folders whose tests start servers, agents or commands,."""

_SPARK, _FAULTS = "tests/spark/test_conformance.py::test_", "tests/sites/test_faults.py::test_"
KEPT = {
    "every kind of operator on Spark": f"{_SPARK}every_kind_of_operator",
    "aggregates in windows on Spark": f"{_SPARK}every_aggregate_in_every_window[",
    "partial aggregates on Spark": f"{_SPARK}every_aggregate_split_into_partial_merge_and_finish[",
    "joins on Spark": f"{_SPARK}joins_with_late_rows_and_a_horizon[",
    "examples on Spark": f"{_SPARK}the_examples[",
    "random graphs on Spark": f"{_SPARK}random_graphs[",
    "ordered operators on Spark": "tests/spark/test_bucket_task.py::test_every_type_goes_through_buckets[",
    "expressions on Spark": "tests/spark/test_expressions.py::test_random_expressions[",
    "stored tables": "tests/spark/test_tables.py::test_a_late_update_corrects_the_table_and_the_answers[",
    "sketches": "tests/spark/test_sketches.py",
    "sources of all formats": "tests/spark/test_sources.py::test_all_types_from_all_formats_at_once",
    "random deployments over sites": "tests/sites/test_random_deployments.py",
    "queries that are added": "tests/sites/test_attaching.py::test_queries_that_come_later_answer",
    "each kind of fault": "tests/faults/test_each_fault.py",
    "strangers, a full disk, a wrong clock, a damaged checkpoint, a site shut out": "tests/faults/test_one_shop.py",
    "kills at random moments": f"{_FAULTS}killed_at_random_moments",
    "a killed server": f"{_FAULTS}the_server_killed_in_the_middle",
    "a cut link": f"{_FAULTS}a_cut_link",
    "a move and a split": "tests/cluster/test_workers.py",
    "a pause and a savepoint": "tests/cluster/test_standing_still.py::test_paused",
    "sites that join, by the README's commands": "tests/cluster/test_readme.py::test_a_cluster_on_one_machine",
    "the demo": "tests/cli/test_commands.py::test_the_demo_computes_its_claims",
    "the documentation's commands": "tests/house/test_docs.py::test_commands_run[",
}
"""What the middle tier must hold, whatever is marked slow: a description, and the beginning of a test's name."""


def folder(item: pytest.Item) -> str:
    """The folder of tests/ that holds a test; doctests of the package have none."""
    return item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this tier; the others are deselected, and counted so."""
    for item in items:
        if folder(item) in _PROCESSES:
            item.add_marker("processes")
    gone = {item for item in items if not _LEFT_OUT[TIER].isdisjoint(mark.name for mark in item.iter_markers())}
    if TIER is not Tier.ALL:
        gone |= _beside_the_sample(items)
    if gone:
        config.hook.pytest_deselected(items=[item for item in items if item in gone])
        items[:] = [item for item in items if item not in gone]


def _beside_the_sample(items: list[pytest.Item]) -> set[pytest.Item]:
    """The parameters of sampled tests that are left to the tier that runs all."""
    sampled: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            sampled[item.nodeid.partition("[")[0]].append(item)
    gone: set[pytest.Item] = set()
    for same in sampled.values():
        mark = same[0].get_closest_marker("sampled")
        count = mark.args[0] if mark is not None else len(same)
        kept = {place * len(same) // count for place in range(count)}
        gone.update(item for place, item in enumerate(same) if place not in kept)
    return gone


def missing(names: Collection[str]) -> list[str]:
    """What of `KEPT` no test of these names covers."""
    return [what for what, begin in KEPT.items() if not any(name.startswith(begin) for name in names)]

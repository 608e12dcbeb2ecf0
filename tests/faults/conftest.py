"""A fault of each kind and a mix of them take a quarter of an hour: they are run when they are asked for."""

import os
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("TRADEWIND_FAULTS"):
        return
    for item in items:
        if item.path == HERE / "test_each_fault.py":
            item.add_marker(pytest.mark.skip(reason="faults of clusters are run with TRADEWIND_FAULTS=1"))

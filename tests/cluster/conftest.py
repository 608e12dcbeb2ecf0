"""Moves of fragments take long, and want a quiet machine: those of whole clusters are run when they are asked for."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("TRADEWIND_FAULTS"):
        return
    for item in items:
        if item.path.name in {"test_moving.py", "test_moving_channels.py", "test_workers.py"}:
            item.add_marker(pytest.mark.skip(reason="moves in whole clusters are run with TRADEWIND_FAULTS=1"))

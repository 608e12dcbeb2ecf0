"""Moves of fragments take long, and want a quiet machine: those of whole clusters are run when they are asked for."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tradewind.runtime.cluster.coordinator import Coordinator, Office

LONG = {Path(__file__).with_name(name) for name in ("test_moving.py", "test_moving_channels.py", "test_workers.py")}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("TRADEWIND_FAULTS"):
        return
    for item in items:
        if item.path in LONG:
            item.add_marker(pytest.mark.skip(reason="moves in whole clusters are run with TRADEWIND_FAULTS=1"))


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator that leads, on free ports."""
    leading = Coordinator(Office(tmp_path / "coordinator", ("127.0.0.1", 0), root=tmp_path))
    leading.start()
    yield leading
    leading.stop_leading()

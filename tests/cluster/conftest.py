"""A coordinator for tests that need no agents."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tradewind.runtime.cluster.coordinator import Coordinator, Office


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator that leads, on free ports."""
    leading = Coordinator(Office(tmp_path / "coordinator", ("127.0.0.1", 0), root=tmp_path))
    leading.start()
    yield leading
    leading.stop_leading()

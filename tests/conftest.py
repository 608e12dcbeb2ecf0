"""Settings for all tests: hypothesis repeats itself in CI and is given time, because these machines are noisy; Java
does not live long.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests import short_lived

_HERE = Path(__file__).parent
_PROCESSES = {"cluster", "faults", "sites", "runtime", "apps"}
_ALONE = {"spark", "rewrites", "placement"}

short_lived.java()
settings.register_profile(
    "tradewind",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tradewind")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of many processes come first, and those that keep one busy for long last.

    With two processes of pytest, each gets a half and takes from the other's end what is left there: so one has the
    former and one the latter, no two clusters share the machine, and nobody waits for long in the end.
    """

    def turn(item: pytest.Item) -> int:
        folder = item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""
        return 0 if folder in _PROCESSES else 2 if folder in _ALONE else 1

    items.sort(key=turn)

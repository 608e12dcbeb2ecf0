"""Settings for all tests: hypothesis repeats itself in CI and is given time, because these machines are noisy; Java
does not live long; each tier runs its own tests, and none leaves anything behind.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import leaks, short_lived, tiers

_PROCESSES = {"cluster", "faults", "sites", "runtime", "apps"}
_ALONE = {"spark", "rewrites", "placement"}

short_lived.java()
leaks.begin()
settings.register_profile(
    "tradewind",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tradewind")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this tier. Tests of many processes come first, and those that keep one busy for long last.

    With two processes of pytest, each gets a half and takes from the other's end what is left there: so one has the
    former and one the latter, no two clusters share the machine, and nobody waits for long in the end.
    """
    tiers.select(config, items)

    def turn(item: pytest.Item) -> int:
        folder = tiers.folder(item)
        return 0 if folder in _PROCESSES else 2 if folder in _ALONE else 1

    items.sort(key=turn)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_left_over() -> Iterator[None]:
    """A module of tests leaves no process, thread, socket or temporary folder behind."""
    with leaks.nothing_left():
        yield

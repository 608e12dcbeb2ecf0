"""The middle tier holds what it is for, and a sample is spread over all parameters."""

from __future__ import annotations

import pytest

from tests import tiers
from tests.tiers import KEPT, TIER, Tier, missing

SAMPLED = """
import pytest
@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(10))
def test_numbers(number): pass
@pytest.mark.slow
def test_slow(): pass
def test_usual(): pass
"""


@pytest.mark.skipif(TIER is not Tier.MIDDLE, reason="only ./dev test leaves out what it must not")
def test_the_middle_tier_keeps_what_it_is_for(request: pytest.FixtureRequest) -> None:
    assert missing([item.nodeid for item in request.session.items]) == []


def test_what_is_missing_is_named() -> None:
    assert set(missing([KEPT["the demo"]])) == set(KEPT) - {"the demo"}
    assert missing(KEPT.values()) == []


class Selecting:
    """A plugin of another pytest that selects as ours does, and remembers what."""

    names: list[str]

    def pytest_configure(self, config: pytest.Config) -> None:
        for marker in ("sampled(n)", "slow"):
            config.addinivalue_line("markers", marker)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        tiers.select(config, items)
        self.names = [item.name for item in items]


@pytest.mark.parametrize(
    ("tier", "selected"),
    [
        ("all", [*(f"test_numbers[{number}]" for number in range(10)), "test_slow", "test_usual"]),
        ("middle", ["test_numbers[0]", "test_numbers[3]", "test_numbers[6]", "test_usual"]),
    ],
)
def test_a_tier_selects_by_markers(tier, selected, tmp_path, monkeypatch, capsys) -> None:
    file = tmp_path / f"test_{tier}.py"
    file.write_text(SAMPLED)
    monkeypatch.setattr(tiers, "TIER", Tier(tier))
    selecting = Selecting()
    arguments = ["--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(tmp_path)]
    code = pytest.main([*arguments, str(file)], [selecting])
    assert (code, selecting.names) == (0, selected), capsys.readouterr().out

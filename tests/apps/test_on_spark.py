"""The applications and Nexmark's queries, run on Spark from files to files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.apps.nexmark_duckdb import ANSWERS, bag, duckdb_answer
from tradewind.apps import battalion, feeds, fish
from tradewind.apps.expectation import verify
from tradewind.apps.nexmark import events
from tradewind.apps.nexmark_files import write
from tradewind.runtime.answers import answer_of
from tradewind.runtime.deployment import deployment, runnable

pytestmark = pytest.mark.spark

NEXMARK = Path(__file__).parents[2] / "examples" / "nexmark"


def answers(spark, found) -> dict[str, Counter]:
    """All answers once everything has been read; each row must be final."""
    base = Path(found.name).parent
    with runnable(found).run(state=base / "state", spark=spark) as live:
        assert live.wait()
    found_answers = {name: answer_of(name, query, base) for name, query in found.queries.items()}
    assert all(row[-1] for answer in found_answers.values() for row in answer)
    return {name: Counter({row[:-1]: n for row, n in answer.items()}) for name, answer in found_answers.items()}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("query", sorted(ANSWERS))
def test_nexmark_equals_duckdb(spark, tmp_path, query) -> None:
    (tmp_path / f"{query}.yaml").write_text((NEXMARK / f"{query}.yaml").read_text())
    found = deployment(tmp_path / f"{query}.yaml")
    paths = {Path(str(o.path)).parent for s in found.streams.values() for o in s.origins.values()}
    assert len(paths) == 1
    tables = events(8_000, 7)
    write(tmp_path / paths.pop(), 8_000, 7, files=3)
    (answer,) = answers(spark, found).values()
    expected = duckdb_answer(query, tables)
    assert expected
    assert bag(answer.elements()) == expected


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("app", "scale"), [(feeds, 0.05), (fish, 0.1), (battalion, 0.05)], ids=["feeds", "fish", "battalion"]
)
def test_an_applications_alarms_are_all_right_and_none_is_extra(spark, tmp_path, app, scale) -> None:
    found, expected = app.prepare(tmp_path, 3, scale)
    assert sum(answer.total() for answer in expected.answers.values()) > 0
    assert verify(expected, answers(spark, found)) == []

"""A run whose measurements contradict its plan says so, once for each thing; one whose plan is right says nothing."""

from __future__ import annotations

import pytest

from tests.sites.joined import RATE, RIGHT, SECONDS, WRONG, laid_out
from tradewind.cli.flows import Flows
from tradewind.cli.progress import Progress

pytestmark = pytest.mark.spark


@pytest.fixture
def told(tmp_path, spark, capsys):
    """A run to its end: what was told of it as data, and on stderr."""

    def run(selectivity: float, rate: float = RATE):
        found = laid_out(tmp_path, selectivity, rate)
        progress = Progress(False, found)
        with found.run(state=tmp_path / "state", on_batch=progress.batch, spark=spark) as live:
            while not live.wait(0.2):
                progress.look(live, ())
            progress.compare(live)
            progress.compare(live)
            read = live.read()
            links = Flows.of(live).links(live.links(), live.predicted(), progress.seconds_of(read))
            summary = progress.summary(live.totals, read, 1.0, "done")
        return {**summary, "links": links}, capsys.readouterr().err

    return run


def test_a_wrong_selectivity_is_told_with_what_to_correct(told):
    data, said = told(WRONG)
    (link,) = data["links"]
    assert link["bytes"] > link["shipped_bytes"]  # what nobody noticed
    deviations = {one["kind"]: one for one in data["deviations"]}
    assert set(deviations) == {"answer", "link"}
    answer = deviations["answer"]
    assert (answer["name"], answer["unit"]) == ("sent", "rows")
    assert answer["measured"] == data["queries"]["sent"]["rows"] > 1000 * answer["predicted"]
    assert (deviations["link"]["name"], deviations["link"]["measured"]) == ("west → hq", link["bytes"])
    assert deviations["link"]["predicted"] == pytest.approx(link["predicted_bytes"], abs=1)
    assert {one["hint"] for one in data["deviations"]} == {"correct selectivity of query sent."}
    assert len(data["warnings"]) == 2  # each once, with the figures of when it was first seen
    assert all(said.count(f"warning: {line}\n") == 1 for line in data["warnings"])


def test_a_right_selectivity_is_no_reason_to_warn(told):
    data, said = told(RIGHT)
    assert data["deviations"] == data["warnings"] == []
    assert "warning" not in said
    assert data["queries"]["sent"]["rows"] > 5 * SECONDS * RATE / 2

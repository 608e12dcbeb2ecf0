"""What Prometheus is told by coordinators and by agents: the same of the same reports, and in its own conventions."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from tradewind.runtime.cluster.desired import Desired
from tradewind.runtime.cluster.metrics import METRICS, of_cluster, of_site, sample
from tradewind.runtime.cluster.registry import Registry, status_of
from tradewind.runtime.cluster.reports import AnswerTold, FragmentTold, LinkTold, ReadTold, SiteReport
from tradewind.web.metrics import exposed

FULL = SiteReport(
    site="hq", agent="a", number=7, epoch=3, state="running", cores=4, memory_bytes=1_400_000_000,
    disk_free_bytes=9_000_000_000, problem="the disk is slow.", restarts=2, refused=1,
    fragments={
        "hq-1": FragmentTold(state="running", batch=41, rows=1_000, seconds=0.25),
        "hq-2": FragmentTold(state="starting"),
    },
    links=[
        LinkTold(start="ams", end="hq", bytes=5_000, rows=40, messages=9, batches=4, control_bytes=70,
                 backlog_bytes=12, round_trip_ms=85.0),
        LinkTold(start="sin", end="hq", reached=False),
    ],
    answers={"top": AnswerTold(final=10, tentative=2, settled=5e6, newest=8e6), "quiet": AnswerTold()},
    read=[ReadTold(stream="requests", rows=900, bad=1, late=2, dropped=3, missing_files=4)],
)  # fmt: skip


def told(samples) -> dict[str, Metric]:
    """What was written, read as Prometheus does, by the names under which it is asked for."""
    text = exposed(samples).decode()
    families = {one.name: one for one in text_string_to_metric_families(text)}
    for one in families.values():
        full = f"{one.name}_total" if one.type == "counter" else one.name
        assert f"# HELP {full} {one.documentation}" in text
        assert f"# TYPE {full} {one.type}" in text
        assert one.documentation.endswith(".")
        assert one.type in {"counter", "gauge"}
        places = [tuple(sorted(found.labels.items())) for found in one.samples]
        assert len(set(places)) == len(places), f"{one.name} is told twice"
    return {f"{name}_total" if one.type == "counter" else name: one for name, one in families.items()}


def values(found: dict[str, Metric], name: str) -> dict[tuple[str, ...], float]:
    return {tuple(one.labels[label] for label in METRICS[name].labels): one.value for one in found[name].samples}


def at_coordinator(report: SiteReport) -> dict[str, Metric]:
    registry = Registry()
    registry.admit(report.site)
    registry.take(report, 1.0)
    return told(of_cluster(status_of(registry, Desired(3), [report.site, "syd"], 1.0), registry))


def test_an_agent_tells_all_of_its_report_in_base_units():
    found = told(of_site("hq", FULL, reached=True))
    for name, expected in {
        "tradewind_coordinator_up": {("hq",): 1.0},
        "tradewind_site_epoch": {("hq",): 3.0},
        "tradewind_site_reports_total": {("hq",): 7.0},
        "tradewind_site_memory_bytes": {("hq",): 1.4e9},
        "tradewind_site_disk_free_bytes": {("hq",): 9e9},
        "tradewind_site_problem": {("hq",): 1.0},
        "tradewind_site_restarts_total": {("hq",): 2.0},
        "tradewind_site_refused_total": {("hq",): 1.0},
        "tradewind_fragment_running": {("hq", "hq-1"): 1.0, ("hq", "hq-2"): 0.0},
        "tradewind_fragment_rows_total": {("hq", "hq-1"): 1_000.0, ("hq", "hq-2"): 0.0},
        # Batches are numbered from zero, and of one that has done none yet nothing is known.
        "tradewind_fragment_batches_total": {("hq", "hq-1"): 42.0},
        "tradewind_fragment_batch_seconds": {("hq", "hq-1"): 0.25, ("hq", "hq-2"): 0.0},
        "tradewind_stream_dropped_rows_total": {("hq", "requests"): 3.0},
        "tradewind_stream_missing_files_total": {("hq", "requests"): 4.0},
        "tradewind_link_up": {("ams", "hq"): 1.0, ("sin", "hq"): 0.0},
        "tradewind_link_bytes_total": {("ams", "hq"): 5_000.0, ("sin", "hq"): 0.0},
        "tradewind_link_backlog_bytes": {("ams", "hq"): 12.0, ("sin", "hq"): 0.0},
        "tradewind_link_round_trip_seconds": {("ams", "hq"): 0.085},
        "tradewind_query_rows": {
            ("top", "true"): 10.0, ("top", "false"): 2.0, ("quiet", "true"): 0.0, ("quiet", "false"): 0.0,
        },
        "tradewind_query_behind_seconds": {("top",): 3.0},
    }.items():  # fmt: skip
        assert values(found, name) == expected, name


def test_an_agent_that_has_nothing_to_tell_yet_tells_whether_its_coordinator_is_there():
    assert values(told(of_site("hq", None, reached=False)), "tradewind_coordinator_up") == {("hq",): 0.0}


def test_every_metric_is_told_by_whom_it_says():
    agent = set(told(of_site("hq", FULL, reached=True)))
    coordinator = set(at_coordinator(FULL)) | {"tradewind_lineage_events_total"}
    # Answers are told by a coordinator of what is wanted, and nothing is here.
    coordinator |= {"tradewind_query_rows", "tradewind_query_behind_seconds"}
    assert agent == {name for name, one in METRICS.items() if one.at != "coordinator"}
    assert coordinator == {name for name, one in METRICS.items() if one.at != "agent"}


def test_names_follow_the_conventions():
    for name, one in METRICS.items():
        assert name.startswith("tradewind_")
        assert name.endswith("_total") == (one.kind == "counter"), name
        assert not any(word in name for word in ("_ms", "_milli", "_kb", "_mb", "_minutes")), name
        assert one.help.endswith(".")
    assert sample("tradewind_link_up", 1.0, "ams", "hq").labels == {"from": "ams", "to": "hq"}


counts = st.integers(0, 1 << 62)
names = st.text(min_size=1, max_size=20)
reports = st.builds(
    SiteReport,
    site=names, agent=names, number=counts, epoch=counts, state=st.sampled_from(["idle", "running", "failed"]),
    memory_bytes=counts, problem=st.none() | names, restarts=counts,
    fragments=st.dictionaries(
        names,
        st.builds(FragmentTold, state=st.just("running"), batch=st.integers(-1, 1 << 40), rows=counts,
                  seconds=st.floats(0, 1e9)),
        max_size=3,
    ),
    read=st.lists(
        st.builds(ReadTold, stream=names, rows=counts, late=counts), max_size=3, unique_by=lambda one: one.stream
    ),
)  # fmt: skip


@settings(deadline=None)
@given(reports, st.booleans())
def test_an_agent_and_its_coordinator_tell_the_same_whatever_things_are_called(report, reached):
    agent, coordinator = told(of_site(report.site, report, reached)), at_coordinator(report)
    for name in agent:
        if METRICS[name].at == "both":
            mine = {place: value for place, value in values(coordinator, name).items() if place[0] == report.site}
            assert values(agent, name) == mine

"""What coordinator and agents tell Prometheus: base units, and totals that only grow.

Both make the same metrics of the same reports: an agent of its own, a coordinator of all that it has heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from tradewind.runtime.cluster.registry import Registry
from tradewind.runtime.cluster.reports import ReadTold, SiteReport


class Sample(NamedTuple):
    """A metric's value."""

    name: str
    help: str
    kind: str
    labels: dict[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its kind, its labels, what it is, and who tells it."""

    kind: Literal["counter", "gauge"]
    labels: tuple[str, ...]
    help: str
    at: Literal["coordinator", "agent", "both"] = "both"


_SITE, _FRAGMENT, _STREAM, _LINK = ("site",), ("site", "fragment"), ("site", "stream"), ("from", "to")

METRICS: dict[str, Metric] = {
    "tradewind_epoch": Metric("gauge", (), "Epoch of what is wanted.", "coordinator"),
    "tradewind_refused_reports_total": Metric("counter", (), "Reports that could not be read.", "coordinator"),
    "tradewind_lineage_events_total": Metric(
        "counter", ("result",), "OpenLineage events that were sent, and that were dropped.", "coordinator"
    ),
    "tradewind_coordinator_up": Metric("gauge", _SITE, "Whether a site reaches its coordinator.", "agent"),
    "tradewind_site_up": Metric("gauge", _SITE, "Whether a site was heard within 3 s.", "coordinator"),
    "tradewind_site_epoch": Metric("gauge", _SITE, "Epoch that a site works on."),
    "tradewind_site_reports_total": Metric("counter", _SITE, "Reports that a site has made since it was started."),
    "tradewind_site_cores": Metric("gauge", _SITE, "Cores that a site's Spark uses."),
    "tradewind_site_memory_bytes": Metric(
        "gauge", _SITE, "Resident bytes of a site's agent and all that it has started."
    ),
    "tradewind_site_disk_free_bytes": Metric("gauge", _SITE, "Free bytes where a site keeps its state."),
    "tradewind_site_problem": Metric("gauge", _SITE, "Whether a site has a problem, which its status names."),
    "tradewind_site_restarts_total": Metric("counter", _SITE, "Times that a site's run was begun again."),
    "tradewind_site_refused_total": Metric("counter", _SITE, "Requests over links that a site has refused."),
    "tradewind_fragment_running": Metric("gauge", _FRAGMENT, "Whether a fragment runs."),
    "tradewind_fragment_rows_total": Metric("counter", _FRAGMENT, "Rows that a fragment has read."),
    "tradewind_fragment_batches_total": Metric("counter", _FRAGMENT, "Batches that a fragment has done, in all runs."),
    "tradewind_fragment_batch_seconds": Metric("gauge", _FRAGMENT, "Seconds that a fragment's last batch took."),
    "tradewind_stream_rows_total": Metric("counter", _STREAM, "Rows of a stream that were read at a site."),
    "tradewind_stream_bad_rows_total": Metric("counter", _STREAM, "Those that could not be read."),
    "tradewind_stream_late_rows_total": Metric("counter", _STREAM, "Those that came late."),
    "tradewind_stream_dropped_rows_total": Metric("counter", _STREAM, "Those that came too late to count."),
    "tradewind_stream_missing_files_total": Metric("counter", _STREAM, "Files that were gone before they were read."),
    "tradewind_link_up": Metric("gauge", _LINK, "Whether the far end of a link answers."),
    "tradewind_link_bytes_total": Metric("counter", _LINK, "Bytes of rows that crossed a link."),
    "tradewind_link_control_bytes_total": Metric("counter", _LINK, "Other bytes that crossed a link."),
    "tradewind_link_rows_total": Metric("counter", _LINK, "Rows that crossed a link."),
    "tradewind_link_messages_total": Metric("counter", _LINK, "Messages that crossed a link."),
    "tradewind_link_batches_total": Metric("counter", _LINK, "Batches that crossed a link."),
    "tradewind_link_backlog_bytes": Metric("gauge", _LINK, "Bytes that wait at the start of a link."),
    "tradewind_link_round_trip_seconds": Metric("gauge", _LINK, "Seconds to the far end of a link and back."),
    "tradewind_query_rows": Metric("gauge", ("query", "final"), "Rows of an answer, final and tentative."),
    "tradewind_query_behind_seconds": Metric("gauge", ("query",), "From what is settled to the newest row."),
}


def sample(name: str, value: float, *labels: str) -> Sample:
    """A value of one of the metrics, with its labels in order."""
    metric = METRICS[name]
    return Sample(name, metric.help, metric.kind, dict(zip(metric.labels, labels, strict=True)), value)


def of_cluster(status: Mapping[str, Any], registry: Registry) -> Iterator[Sample]:
    """What a coordinator tells: of itself, and of all sites."""
    yield sample("tradewind_epoch", status["epoch"])
    yield sample("tradewind_refused_reports_total", registry.refused)
    for site, one in status["sites"].items():
        yield sample("tradewind_site_up", float(one["state"] == "alive"), site)
        if site in registry.heard:
            yield from _of_report(registry.heard[site].report)
    for link in status["links"]:
        yield from _of_link(link)
    for name, query in status["queries"].items():
        yield from _of_query(name, query)


def of_site(site: str, report: SiteReport | None, reached: bool) -> Iterator[Sample]:
    """What an agent tells: how its site is, by its last report, and whether its coordinator can be reached."""
    yield sample("tradewind_coordinator_up", float(reached), site)
    if report is None:
        return
    yield from _of_report(report)
    for link in report.links:
        yield from _of_link({"from": link.start, "to": link.end, **link.model_dump()})
    for name, query in report.answers.items():
        yield from _of_query(name, {**query.model_dump(), "behind_seconds": query.behind_seconds})


def _of_report(report: SiteReport) -> Iterator[Sample]:
    site = report.site
    yield sample("tradewind_site_epoch", report.epoch, site)
    yield sample("tradewind_site_reports_total", report.number, site)
    yield sample("tradewind_site_cores", report.cores, site)
    yield sample("tradewind_site_memory_bytes", report.memory_bytes, site)
    yield sample("tradewind_site_disk_free_bytes", report.disk_free_bytes, site)
    yield sample("tradewind_site_problem", float(report.problem is not None), site)
    yield sample("tradewind_site_restarts_total", report.restarts, site)
    yield sample("tradewind_site_refused_total", report.refused, site)
    for name, one in report.fragments.items():
        yield sample("tradewind_fragment_running", float(one.state == "running"), site, name)
        yield sample("tradewind_fragment_rows_total", one.rows, site, name)
        yield sample("tradewind_fragment_batch_seconds", one.seconds, site, name)
        if one.batch >= 0:
            # They are numbered through all runs: zero, before the first one of this run is done, would be a reset.
            yield sample("tradewind_fragment_batches_total", one.batch + 1, site, name)
    yield from _of_streams(site, report.read)


def _of_streams(site: str, read: Iterable[ReadTold]) -> Iterator[Sample]:
    for one in read:
        yield sample("tradewind_stream_rows_total", one.rows, site, one.stream)
        yield sample("tradewind_stream_bad_rows_total", one.bad, site, one.stream)
        yield sample("tradewind_stream_late_rows_total", one.late, site, one.stream)
        yield sample("tradewind_stream_dropped_rows_total", one.dropped, site, one.stream)
        yield sample("tradewind_stream_missing_files_total", one.missing_files, site, one.stream)


def _of_link(link: Mapping[str, Any]) -> Iterator[Sample]:
    ends = link["from"], link["to"]
    yield sample("tradewind_link_up", float(link["reached"]), *ends)
    for what in ("bytes", "control_bytes", "rows", "messages", "batches"):
        yield sample(f"tradewind_link_{what}_total", link[what], *ends)
    yield sample("tradewind_link_backlog_bytes", link["backlog_bytes"], *ends)
    if link["round_trip_ms"] is not None:
        yield sample("tradewind_link_round_trip_seconds", link["round_trip_ms"] / 1000, *ends)


def _of_query(name: str, query: Mapping[str, Any]) -> Iterator[Sample]:
    yield sample("tradewind_query_rows", query["final"], name, "true")
    yield sample("tradewind_query_rows", query["tentative"], name, "false")
    if query["behind_seconds"] is not None:
        yield sample("tradewind_query_behind_seconds", query["behind_seconds"], name)

"""Declared figures of whole deployments: the CDN's, worked out by hand, and all other examples."""

import math
from pathlib import Path

import pytest

import tradewind as tw
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.cost.declared import OriginFigures, declared_statistics
from tradewind.cost.statistics import Statistics
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.rewrites.engine import rewrite

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
CDN = next(path for path in EXAMPLES if path.stem == "cdn")


SMALL = """
sites: {{ams: {{cores: 2}}}}
streams:
  hits:
    schema: ts TIMESTAMP, url STRING
    time: ts
    {figures}
    at: {{{origin}}}
queries:
  counts:
    sql: SELECT window.start AS minute, url, count(*) AS n FROM hits GROUP BY window(ts, '1 minute'), url
    deliver: {{site: ams, format: parquet, path: out}}
"""


def small(folder: Path, origin: str, figures: str = "late_by: 1 second") -> Deployment:
    file = folder / "small.yaml"
    file.write_text(SMALL.format(origin=origin, figures=figures), encoding="utf-8")
    return tw.deployment(file)


def uniform(rows: float, values: float) -> float:
    return values * -math.expm1(rows * math.log1p(-1 / values))


def planned(query: str) -> tuple[Statistics, Graph]:
    deployment = tw.deployment(CDN)
    return Statistics(declared_statistics(deployment), query), rewrite(deployment.graph(query)).graph


def of_kind(graph: Graph, kind: str) -> list[Operator]:
    return [node for node in graph if node.kind == kind]


def test_all_figures_are_taken_over() -> None:
    declared = declared_statistics(tw.deployment(CDN))
    requests = declared.streams["requests"]
    assert requests.origins["nyc"] == OriginFigures(3_100, 90)
    assert requests.distinct == {"domain": 20_000, "url": 900_000, "client": 400_000, "status": 12}
    assert declared.queries["top_domains"].fresh_seconds == 30


def test_top_domains_of_the_cdn_by_hand() -> None:
    """A third of the lines have status < 500 by the rule for ranges; partials go out every 30 / 3 seconds."""
    figures, graph = planned("top_domains")
    rates = {"ams": 2_000, "waw": 900, "nyc": 3_100}
    for node in of_kind(graph, "partial"):
        ((_, site),) = figures.flow(node).streams
        assert figures.flow(node).flush_seconds == 10
        assert figures.flow(node).rows_per_second == pytest.approx(uniform(rates[site] / 3 * 10, 20_000) / 10)
    (merged,), (top,) = of_kind(graph, "merge"), of_kind(graph, "top")
    assert figures.flow(merged).rows_per_second == pytest.approx(uniform(20_000, 20_000) / 10)  # 1,264 a second
    assert figures.flow(top).rows_per_second == pytest.approx(1)  # ten domains every ten seconds
    raw = sum(figures.flow(node).bytes_per_second for node in of_kind(graph, "source"))
    shipped = sum(figures.flow(node).bytes_per_second for node in of_kind(graph, "partial"))
    assert raw == pytest.approx(6_000 * 90)
    # A domain takes 6.0 + 2.6 bytes packed, nearly twice that at the declared weight; window and count little.
    assert shipped / sum(figures.flow(node).rows_per_second for node in of_kind(graph, "partial")) == pytest.approx(
        23, rel=0.1
    )
    assert figures.warnings == []


def test_bytes_and_p95_of_the_cdn_by_hand() -> None:
    """Twelve groups every 20 seconds, each with a sketch of 262 latencies; beside them 675 bytes a batch."""
    figures, graph = planned("bytes_and_p95")
    for node in of_kind(graph, "partial"):
        assert figures.flow(node).rows_per_second == pytest.approx(12 / 20)
        assert figures.flow(node).bytes_per_second == pytest.approx((12 * 274 + 675) / 20, rel=0.02)
    (merged,) = of_kind(graph, "merge")
    assert figures.flow(merged).rows_per_second == pytest.approx(12 / 20)


def test_clients_of_the_cdn_by_hand() -> None:
    """Five windows at once, every 40 seconds; at ams 80,000 lines meet 19,634 of 20,000 domains, four lines each."""
    figures, graph = planned("clients")
    (ams,) = (node for node in of_kind(graph, "partial") if figures.flow(node).streams == {("requests", "ams")})
    assert figures.flow(ams).rows_per_second == pytest.approx(5 * uniform(80_000, 20_000) / 40)
    sketch = next(
        column.bytes for name, column in figures.flow(ams).columns.items() if name not in ("domain", "window")
    )
    assert sketch == pytest.approx(3 + 4.6 * 4.07, rel=0.02)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_has_figures(path: Path) -> None:
    deployment = tw.deployment(path)
    declared = declared_statistics(deployment)
    for query in deployment.queries:
        figures = Statistics(declared, query)
        for node in rewrite(deployment.graph(query)).graph:
            found = figures.flow(node)
            assert 0 <= found.bytes_per_second < math.inf
            assert set(found.columns) == set(node.schema.names)
            assert figures.cores(node) >= 0


def test_missing_figures_of_a_file_are_said(tmp_path: Path) -> None:
    deployment = small(tmp_path, "ams: {path: data}")
    figures = Statistics(declared_statistics(deployment), "counts")
    figures.flow(deployment.graph("counts")["counts"])
    assert [text.split(":")[0] for text in figures.warnings] == [
        "stream 'hits' at 'ams' has no rows_per_second",
        "stream 'hits' at 'ams' has no row_bytes",
        "stream 'hits' has no distinct count of 'url'",
    ]


def test_skew_is_taken_over(tmp_path: Path) -> None:
    deployment = small(
        tmp_path, "ams: {rows_per_second: 100, row_bytes: 30}", "distinct: {url: 5000}\n    skew: {url: 1.1}"
    )
    assert declared_statistics(deployment).streams["hits"].skew == {"url": 1.1}

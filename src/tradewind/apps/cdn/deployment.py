"""The deployment of the content delivery network: its file, with statistics that are true of the logs beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.parquet as pq

from tradewind.apps.cdn.law import DOMAINS
from tradewind.apps.cdn.log import EDGES, STATUS_SKEW, STATUSES, USUAL, Traffic, write
from tradewind.apps.cdn.shipping import packed_bytes
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import deployment

FILE = "cdn.yaml"
STREAM = "requests"
TOP, TRAFFIC, CLIENTS = "top_domains", "traffic", "clients"
"""The three questions."""

_TEXT = """\
# A content delivery network: edge sites log requests, each region has a datacenter, answers are read at hq.
#
# Written together with the logs in data/: one file for each minute at each edge, so a batch is a minute. What is
# declared of the stream was worked out from the law that the logs were drawn by, and row_bytes from the files.

sites:
  ams:   {{cores: 4, region: eu}}
  waw:   {{cores: 4, region: eu}}
  mad:   {{cores: 4, region: eu}}
  nyc:   {{cores: 4, region: us}}
  chi:   {{cores: 4, region: us}}
  sea:   {{cores: 4, region: us}}
  sin:   {{cores: 4, region: ap}}
  tyo:   {{cores: 4, region: ap}}
  syd:   {{cores: 4, region: ap}}
  eu-dc: {{cores: 16, region: eu, usd_per_core_hour: 0.05}}
  us-dc: {{cores: 16, region: us, usd_per_core_hour: 0.04}}
  ap-dc: {{cores: 16, region: ap, usd_per_core_hour: 0.05}}
  hq:    {{cores: 8, region: us, usd_per_core_hour: 0.04}}

links:
  - {{between: [ams, eu-dc], mbps: 50, ms: 9, usd_per_gb: 0.02}}
  - {{between: [waw, eu-dc], mbps: 50, ms: 21, usd_per_gb: 0.02}}
  - {{between: [mad, eu-dc], mbps: 50, ms: 26, usd_per_gb: 0.02}}
  - {{between: [nyc, us-dc], mbps: 80, ms: 7, usd_per_gb: 0.02}}
  - {{between: [chi, us-dc], mbps: 80, ms: 18, usd_per_gb: 0.02}}
  - {{between: [sea, us-dc], mbps: 80, ms: 58, usd_per_gb: 0.02}}
  - {{between: [sin, ap-dc], mbps: 50, ms: 6, usd_per_gb: 0.05}}
  - {{between: [tyo, ap-dc], mbps: 50, ms: 68, usd_per_gb: 0.05}}
  - {{between: [syd, ap-dc], mbps: 50, ms: 92, usd_per_gb: 0.06}}
  - {{between: [eu-dc, hq], mbps: 200, ms: 85, usd_per_gb: 0.05}}
  - {{between: [us-dc, hq], mbps: 500, ms: 12, usd_per_gb: 0.02}}
  - {{between: [ap-dc, hq], mbps: 100, ms: 180, usd_per_gb: 0.09}}

streams:
  requests:
    schema: >-
      ts TIMESTAMP, region STRING, domain STRING, url STRING, client STRING, bytes BIGINT, status INT, latency_ms INT
    time: ts
    late_by: 5 seconds
    distinct: {{region: 3, domain: {domains}, client: {clients}, status: {statuses}}}
    skew: {{domain: {skew}, status: {status_skew}}}
    at:
{origins}

queries:
  top_domains:
    sql: |
      SELECT window.start AS minute, domain, count(*) AS hits
      FROM requests
      GROUP BY window(ts, '1 minute'), domain
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY hits DESC, domain) <= 10
    deliver: {{site: hq, format: parquet, path: out/top_domains}}
    fresh_within: 3 minutes

  traffic:
    sql: |
      SELECT window.start AS minute, region, status, sum(bytes) AS bytes, approx_percentile(latency_ms, 0.95) AS p95
      FROM requests
      GROUP BY window(ts, '1 minute'), region, status
    deliver: {{site: hq, format: parquet, path: out/traffic}}
    fresh_within: 3 minutes
    error: 0.02

  clients:
    sql: |
      SELECT window.start AS since, domain, approx_count_distinct(client) AS clients
      FROM requests
      GROUP BY window(ts, '3 minutes'), domain
    deliver: {{site: hq, format: parquet, path: out/clients}}
    fresh_within: 3 minutes
    error: 0.02

objective: dollars
"""
_LINK = "  - {{between: ["
_ORIGIN = (
    "      {name}: {{format: parquet, path: data/{name}, options: {{max_files_per_batch: 1}}, "
    "rows_per_second: {rate:g}, row_bytes: {weight:.2f}}}"
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A folder with the deployment file and the logs: the file as it was read, and how many requests and files."""

    deployment: Deployment
    rows: int
    files: int


def prepare(folder: Path, seed: int, traffic: Traffic = USUAL) -> Prepared:
    """Write the logs and the deployment file into a folder; the same for the same seed."""
    data = folder / "data"
    rows = write(data, seed, traffic)
    path = folder / FILE
    path.write_text(
        text(traffic, {edge.name: _row_bytes(data / edge.name) for edge in traffic.edges}), encoding="utf-8"
    )
    return Prepared(deployment(path), rows, len(traffic.edges) * traffic.minutes)


def text(traffic: Traffic, row_bytes: Mapping[str, float]) -> str:
    """The deployment file, for logs of so much traffic whose rows weigh so many bytes at each edge."""
    origins = (_ORIGIN.format(name=e.name, rate=traffic.rate(e), weight=row_bytes[e.name]) for e in traffic.edges)
    left_out = {edge.name for edge in EDGES} - {edge.name for edge in traffic.edges}
    lines = _TEXT.splitlines(keepends=True)
    kept = "".join(
        line for line in lines if not any(line.startswith((f"  {name}: ", _LINK + name)) for name in left_out)
    )
    return kept.format(
        domains=DOMAINS.values,
        clients=sum(traffic.clients(edge) for edge in traffic.edges),
        statuses=len(STATUSES),
        skew=_skew(traffic),
        status_skew=STATUS_SKEW,
        origins="\n".join(origins),
    )


def only(found: Deployment, *names: str) -> Deployment:
    """The deployment with some of its questions only."""
    return replace(found, queries={name: query for name, query in found.queries.items() if name in names})


def _skew(traffic: Traffic) -> float:
    """One skew for the domains in a minute of a usual edge, and of the edges of a usual region together.

    Not only the number of domains counts but also how many of them are asked for often, as sketches grow with that: so
    it has to serve small parts of a minute too.
    """
    minute = 60 * sum(traffic.rate(edge) for edge in traffic.edges) / len(traffic.edges)
    edges = len(traffic.edges) / len({edge.region for edge in traffic.edges})
    return DOMAINS.one_skew([minute / 400, minute / 20, minute, minute * edges])


def _row_bytes(folder: Path) -> float:
    """What a row of an edge's first file weighs, packed."""
    table = pq.read_table(min(folder.iterdir()))
    return packed_bytes(table, table.column_names) / float(table.num_rows)

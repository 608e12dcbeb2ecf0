"""An answer within an error, over sites: no value is further off, and little is sent."""

import random
from collections import Counter

import tradewind as tw
from tests.sites.shops import SECOND, write
from tradewind.runtime.answers import answer_of
from tradewind.runtime.wiring import Network

SHOPS = ("north", "south", "west")
ERROR = 0.05
FILE = """
sites: {north: {cores: 1}, south: {cores: 1}, west: {cores: 1}, hq: {cores: 2}}
links:
  - {between: [north, hq], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [south, hq], mbps: 50, ms: 2, usd_per_gb: 0.02}
  - {between: [west, hq], mbps: 50, ms: 2, usd_per_gb: 0.02}
streams:
  sales:
    schema: ts TIMESTAMP, item STRING
    time: ts
    late_by: 5 seconds
    at:
      north: {format: parquet, path: data/north}
      south: {format: parquet, path: data/south}
      west: {format: parquet, path: data/west}
queries:
  best:
    sql: |
      SELECT window.start AS begin, item, count(*) AS sold FROM sales GROUP BY window(ts, '20 seconds'), item
      QUALIFY row_number() OVER (PARTITION BY window ORDER BY sold DESC, item) <= 3
    deliver: {site: hq, format: parquet, path: out/best}
    error: 0.05
  kinds:
    sql: SELECT window.start AS begin, count(DISTINCT item) AS items FROM sales GROUP BY window(ts, '20 seconds')
    deliver: {site: hq, format: parquet, path: out/kinds}
    error: 0.05
"""


def test_answers_are_within_the_error_and_light_groups_stay_where_they_are(spark, tmp_path) -> None:
    chance = random.Random(8)
    file = tmp_path / "shops.yaml"
    file.write_text(FILE)
    found = tw.deployment(file)
    rows = {
        shop: [(n * SECOND // 30, f"item {min(int(chance.paretovariate(0.4)), 900)}") for n in range(1800)]
        for shop in SHOPS
    }
    for shop, given in rows.items():
        write(tmp_path / "data" / shop, given, found.streams["sales"].source.schema, 3)
    with found.run(state=tmp_path / "state", spark=spark, network=Network(imitate=False)) as live:
        live.wait()
        assert live.planned is not None
        assert set(live.planned.report.chosen.approximated) == {"best", "kinds"}
        sent = [one for one in live.streams() if "item" in one.columns]
    exact = Counter((at // (20 * SECOND), item) for some in rows.values() for at, item in some)
    windows = Counter(window for window, _ in exact.elements())
    assert len(sent) == len(SHOPS)
    assert all(one.rows <= len(windows) * 20 for one in sent), "a shop sends its first twenty of each window"
    seen: Counter[int] = Counter()
    for row, times in answer_of("best", found.queries["best"], tmp_path).items():
        begin, item, sold, final = row
        window = begin // (20 * SECOND)
        assert (times, final) == (1, True)
        assert exact[window, item] - ERROR * windows[window] <= sold <= exact[window, item]
        seen[window] += 1
    assert seen == Counter(dict.fromkeys(windows, 3))
    different = Counter(window for window, _ in exact)
    told = {row[0] // (20 * SECOND): row[1] for row in answer_of("kinds", found.queries["kinds"], tmp_path)}
    # Four standard errors: one window in sixteen thousand would be further off.
    assert all(abs(told[window] - count) <= 4 * ERROR * count for window, count in different.items())

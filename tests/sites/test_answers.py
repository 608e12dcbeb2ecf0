"""A program asks a run at several sites for its answers as they are now."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sites.shops import Shops
from tradewind.algebra.schema import Schema
from tradewind.algebra.types import BOOLEAN
from tradewind.interpreter.run import answer
from tradewind.spark.types import from_arrow

pytestmark = pytest.mark.spark


def test_answers_that_are_pulled_and_answers_in_files(spark, tmp_path) -> None:
    shops = Shops(tmp_path, 31)
    sold = shops.found.sql("SELECT item, sum(amount) AS sold, count(*) AS sales FROM sales GROUP BY item")
    queries = {"pulled": sold.deliver("hq"), "filed": sold.deliver("depot", format="json", path="out/sold")}
    with shops.found.run(queries, spark=spark) as live:
        assert live.site is None
        live.wait()
        found = {name: live.answer(name) for name in queries}
        assert live.dequeue("pulled", timeout=1) is not None, "rows stay to be pulled"
    [expected] = answer(sold.graph("sold"), {"sales": shops.rows["sales"]}).values()
    schema = Schema((*sold.schema.columns, ("_final", BOOLEAN)))
    for name, table in found.items():
        assert Counter(from_arrow(table, schema)) == Counter({(*row, True): count for row, count in expected.items()})
        assert live.answer(name) == table, "also after the run"
    assert found["pulled"].to_pandas()["sales"].sum() == sum(row[-1] for row in expected.elements())

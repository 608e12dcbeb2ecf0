"""What makes batches of few rows quick is at work, and changes nothing."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError

from tradewind.spark.session import FEW, another, compile_plans

pytestmark = pytest.mark.spark


def test_a_class_and_its_methods_are_looked_for_once(spark) -> None:
    view = spark.sparkContext._jvm
    found = view.PythonUtils
    assert found is view.PythonUtils
    assert found.toSeq is found.toSeq
    assert found.toSeq([1, 2]).size() == 2
    assert view.java.lang.Integer.MAX_VALUE == 2**31 - 1
    with pytest.raises(Py4JError, match="does not exist"):
        _ = found.nothingOfThatName


@pytest.mark.parametrize(
    ("rows", "partitions", "adaptive"), [(0, 2, False), (FEW, 2, True), (0, 4, False), (0, 5, True)]
)
def test_plans_of_few_rows_on_few_partitions_are_not_adapted(spark, rows, partitions, adaptive) -> None:
    session = another(spark)
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    compile_plans(session, rows)
    assert session.conf.get("spark.sql.adaptive.enabled") == str(adaptive).lower()
    assert session.range(100).groupBy("id").count().count() == 100

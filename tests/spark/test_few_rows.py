"""What makes batches of few rows quick is at work, and changes nothing."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError

from tradewind.spark.columns import UNTIL
from tradewind.spark.memory import Memory
from tradewind.spark.session import FEW, another, fit_plans, partitions

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


def exchanges(frame) -> int:
    plan = frame._jdf.queryExecution().executedPlan().toString()
    return int(plan.count("Exchange hashpartitioning"))


def test_few_rows_stay_in_one_place_and_many_are_dealt_out(spark, tmp_path) -> None:
    session = another(spark)
    memory = Memory(session, tmp_path)
    for batch, (rows, expected) in enumerate([(0, 0), (FEW, 2), (0, 0)]):
        fit_plans(session, rows)
        assert partitions(session) == (2 if rows else 1)
        assert session.conf.get("spark.sql.adaptive.enabled") == str(rows > 0).lower()
        memory.begin(batch)
        found = memory.append("t", session.range(100, numPartitions=2).selectExpr("id % 7 AS k", f"id AS {UNTIL}"))
        memory.commit({})
        assert found is not None
        counted = found.groupBy("k").count()
        joined = counted.join(found.groupBy("k").max(UNTIL), "k")
        assert joined.count() == 7
        assert exchanges(joined) == expected
    assert memory.committed.rows == 300


def test_settings_that_nobody_made_and_local_files_do_not_need_are_not_sent_to_tasks(spark, tmp_path) -> None:
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    assert settings.size() < 60
    assert settings.get("yarn.resourcemanager.hostname") is None
    # What was set is there, also where it is the same by default.
    assert settings.get("mapreduce.fileoutputcommitter.algorithm.version") == "2"
    assert settings.get("fs.file.impl").endswith("RawLocalFileSystem")
    java = spark.sparkContext._jvm
    cached = java.org.apache.hadoop.fs.FileSystem.get(java.java.net.URI("file:///"), settings)
    assert cached.getClass().getName().endswith(".RawLocalFileSystem"), "nobody got another one while they were sorted"
    spark.range(10).write.parquet(str(tmp_path / "rows"))
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 10
    assert settings.size() < 60, "nothing has brought the defaults back"

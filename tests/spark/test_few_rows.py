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


def test_settings_that_nobody_made_and_local_files_do_not_need_are_not_sent_to_tasks(spark, tmp_path) -> None:
    settings = spark.sparkContext._jsc.hadoopConfiguration()
    assert settings.size() < 60
    assert settings.get("yarn.resourcemanager.hostname") is None
    # What was set is there, also where it is the same by default.
    assert settings.get("mapreduce.fileoutputcommitter.algorithm.version") == "2"
    assert settings.get("fs.file.impl").endswith("RawLocalFileSystem")
    spark.range(10).write.parquet(str(tmp_path / "rows"))
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 10
    assert settings.size() < 60, "nothing has brought the defaults back"

"""The same question asked of plain Spark SQL, for comparing: our own texts only, never a user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql import SparkSession


def plain_answer(spark: SparkSession, sql: str, views: Mapping[str, Sequence[str]]) -> pa.Table:
    """What a batch query gives over Parquet folders, each group of folders under a name."""
    for name, folders in views.items():
        spark.read.parquet(*folders).createOrReplaceTempView(name)
    try:
        return spark.sql(sql).toArrow()
    finally:
        for name in views:
            spark.catalog.dropTempView(name)

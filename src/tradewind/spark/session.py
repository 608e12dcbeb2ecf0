"""A Spark session as Tradewind needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

_SETTINGS = {
    # Meaning: no surprises from zones or ANSI errors; timestamps are whole microseconds in files too.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.caseSensitive": "false",
    # Security: a path is never a table.
    "spark.sql.runSQLOnFiles": "false",
    # Speed: batches are small and many, so what does not pay within one is off.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    # Deep plans overflow the stack of the thread that prints or optimises them.
    "spark.driver.extraJavaOptions": "-Xss16m -XX:+UseG1GC",
}


def start(cores: int | str, folder: Path, *, memory: str = "1g", master: str | None = None) -> SparkSession:
    """A session with so many cores of this machine, or at a master; its temporary files lie in the folder."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master or f"local[{cores}]").appName("tradewind")
    settings = {
        **_SETTINGS,
        "spark.driver.memory": memory,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.default.parallelism": str(cores),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session

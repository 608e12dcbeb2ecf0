"""Hadoop's settings without the defaults that nobody asks for on one machine.

Each task is sent all settings, and each file that is opened gets a copy: eleven hundred of them, nearly all for YARN,
MapReduce and stores elsewhere, were a fifth of Java's time with batches of few rows. What somebody has set stays, and
so do the defaults of local files; whoever asks for another one gets what its code falls back on.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

_DEFAULTS = ("core-default.xml", "mapred-default.xml", "yarn-default.xml", "hdfs-default.xml", "hdfs-rbf-default.xml")
_LOCAL = ("fs.defaultFS", "fs.file.", "fs.AbstractFileSystem.file.", "file.", "io.", "hadoop.tmp.dir")
"""How the names of settings begin whose defaults are kept."""


def trim(context: SparkContext) -> None:
    """Forget the defaults that local files do not need, if all of Spark is on this machine."""
    if not str(context.master).startswith("local"):
        return
    java: Any = context._jvm  # noqa: SLF001 - PySpark has no other way
    hadoop = context._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
    # From then on all defaults are there: those that are added later would bring the others back.
    java.org.apache.hadoop.mapred.JobConf(False)
    java.org.apache.hadoop.hdfs.HdfsConfiguration.init()
    given = {name.removeprefix("spark.hadoop.") for name, _ in context.getConf().getAll()}
    kept = _without_defaults(java, hadoop, given).keySet()
    # Taken out of what is there, in one go each: whoever asks meanwhile for the local file system, and finds no word on
    # which one it is to be, gets Hadoop's own, and so does everybody after.
    for field in ("properties", "overlay"):
        _inside(java, hadoop, field).keySet().retainAll(kept)
    with suppress(Py4JError):  # where each setting came from: also sent along, and asked for by nobody
        _inside(java, hadoop, "updatingResource").clear()


def _inside(java: Any, hadoop: Any, field: str) -> Any:
    """What Hadoop's settings hold in a field of their own."""
    found = java.java.lang.Class.forName("org.apache.hadoop.conf.Configuration").getDeclaredField(field)
    found.setAccessible(True)
    return found.get(hadoop)


def _without_defaults(java: Any, hadoop: Any, given: Collection[str]) -> Any:
    """The settings that are kept, as a map in Java."""
    plain = java.org.apache.hadoop.conf.Configuration(False)
    for resource in _DEFAULTS:
        plain.addResource(resource)
    found, unchanged = hadoop.getPropsWithPrefix(""), plain.getPropsWithPrefix("")
    for name in _names(java, unchanged):
        if name in given or name.startswith(_LOCAL):
            unchanged.remove(name)
    found.entrySet().removeAll(unchanged.entrySet())
    return found


def _names(java: Any, found: Any) -> list[str]:
    return str(java.java.lang.String.join("\n", found.keySet())).splitlines()

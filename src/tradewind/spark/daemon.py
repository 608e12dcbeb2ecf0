"""The parent of Spark's Python workers, which imports once what all of them need.

By itself each worker would import it anew, for about a second. And Spark has a worker collect garbage after each task:
50 ms for all that was imported, unless that is set apart.
"""

from __future__ import annotations

import gc
import importlib
import os

from pyspark.daemon import manager

_FOR_WORKERS = (
    "pyarrow.compute",
    "pyarrow.dataset",  # which imports pandas
    "pyspark.worker",
    "tradewind.spark.bucketed",
    "tradewind.spark.channels.inlets",
    "tradewind.spark.channels.outlets",
    "tradewind.spark.sources.landing",
)

if __name__ == "__main__":
    # A parent that forks has no threads besides its own; numpy would start some.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for name in _FOR_WORKERS:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    manager()

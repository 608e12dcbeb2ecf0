"""The parent of Spark's Python workers, which imports once what all of them need.

By itself each worker would import it anew, for about a second. And Spark has a worker collect garbage after each task:
50 ms for all that was imported, unless that is set apart.
"""

from __future__ import annotations

import gc
import os

# Before numpy is imported: a parent has no threads besides its own when it forks.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pyarrow.compute  # noqa: E402, F401 - after the line above, for the workers
import pyspark.worker  # noqa: E402, F401 - as above
from pyspark.daemon import manager  # noqa: E402 - as above

import tradewind.spark.bucketed  # noqa: E402, F401 - as above
import tradewind.spark.channels.inlets  # noqa: E402, F401 - as above
import tradewind.spark.channels.outlets  # noqa: E402, F401 - as above
import tradewind.spark.sources.landing  # noqa: E402, F401 - as above

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    manager()

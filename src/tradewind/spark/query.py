"""One Structured Streaming query for a graph: Spark tracks what is new, each micro-batch is planned as a whole.

The frame that `foreachBatch` hands over hides the scan from Catalyst: nothing is pushed into it. So the query's own
plan only tells which files a batch holds, and the batch is planned from the scan on. Offsets, batches and recovery
are Structured Streaming's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from tradewind.spark.columns import WEIGHT
from tradewind.spark.delivery import FINAL, Wish, deliverable
from tradewind.spark.engine import Arrived, Deltas, Engine
from tradewind.spark.sinks import Sink
from tradewind.spark.step import Step


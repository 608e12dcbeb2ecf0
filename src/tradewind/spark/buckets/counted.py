"""Counted windows over a bucket: so many rows of a group in order, and what silence closes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from tradewind.algebra.operators.aggregation import Aggregate
from tradewind.algebra.windows import CountedWindow
from tradewind.spark.buckets.arrays import FOREVER, Array, Flags, Ints, column, integers, ranks
from tradewind.spark.buckets.gathering import Gathering, Order
from tradewind.spark.buckets.operator import Moment, State
from tradewind.spark.buckets.panes import Panes, differing, listed
from tradewind.spark.buckets.store import Merged, clock_of


class _Runs(NamedTuple):
    """Copies of rows in order, cut into runs, and the windows that lie on them."""

    panes: Panes
    full: Flags
    deadline: Ints
    """For each pane, when silence closes the run that it is in."""
    begin: Ints
    """For each copy, where its run begins,"""
    end: Ints
    """and where the next one does."""


@dataclass(frozen=True)
class CountedPanes:
    """The panes of an aggregate over a counted window."""

    window: CountedWindow
    order: Order
    ...

"""Rows that count for more or less than one."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.operators.core import ConnectionPoint, Filter, Join, Map, Source, Union
from tradewind.algebra.operators.derived import Derived
from tradewind.spark.columns import WEIGHT


def is_unit(node: Operator) -> bool:
    """Whether each row that the node gives out counts for exactly one."""
    if not node.append_only:
        return False
    if isinstance(node, Derived):
        return is_unit(node.expand())
    if isinstance(node, Filter | Map | Union | ConnectionPoint | Join):
        return all(is_unit(child) for child in node.inputs)
    return isinstance(node, Source)


def single_copies(frame: DataFrame) -> DataFrame:
    """Each row as often as it is there, with weights of one and minus one."""
    copies = f"explode(array_repeat(CAST(sign({WEIGHT}) AS BIGINT), CAST(abs({WEIGHT}) AS INT))) AS {WEIGHT}"
    return frame.selectExpr(*(f"`{name}`" for name in frame.columns if name != WEIGHT), copies)

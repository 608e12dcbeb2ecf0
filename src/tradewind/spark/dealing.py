"""What graphs remember, dealt out to others that go on with it: whole tables, or the rows for which something holds.

Nothing changes where it comes from: a deal that dies is begun anew.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tradewind.algebra.expressions.tree import Expression, columns_of
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.errors import RunError
from tradewind.spark.expressions import condition_sql
from tradewind.spark.layout import in_order, names_of
from tradewind.spark.memory import Memory


@dataclass(frozen=True)
class Keeper:
    """A graph, what comes to it by channels, and the folder of what it remembers."""

    graph: Graph
    given: Mapping[str, Operator]
    folder: Path

    def names(self) -> dict[Operator, str]:
        """What its operators are called in its tables."""
        return names_of(in_order(self.graph, set(self.given.values())))


@dataclass(frozen=True)
class Deal:
    """What goes from one to another: of which operators what they remember, and which operators go on with it.

    `only` is a condition on the rows, over a schema that has its columns. What belongs to no operator, as what was told
    of answers, goes along where `rest` says so.
    """

    source: Keeper
    twins: Mapping[Operator, Operator]
    only: tuple[Expression, Schema] | None = None
    rest: bool = False

    def called(self, names: Iterable[str], target: Mapping[Operator, str]) -> dict[str, str]:
        """What tables or folders are called where they go to; those that do not go are left out."""
        prefixes = {f"{own}-": node for node, own in self.source.names().items()}
        found: dict[str, str] = {}
        for name in names:
            prefix = next((one for one in prefixes if name.startswith(one)), None)
            if prefix is None:
                if self.rest:
                    found[name] = name
            elif (twin := self.twins.get(prefixes[prefix])) is not None:
                found[name] = f"{target[twin]}-{name.removeprefix(prefix)}"
        return found

    def of_rows(self, rows: DataFrame, table: str) -> DataFrame:
        """The rows of a table that go."""
        if self.only is None:
            return rows
        condition, schema = self.only
        missing = set(columns_of(condition)) - set(rows.columns)
        if missing:
            raise RunError(f"what is remembered as {table!r} has no column {min(missing)!r} to be dealt out by.")
        return rows.where(condition_sql(condition, schema))


def dealt(spark: SparkSession, target: Keeper, deals: Iterable[Deal], batch: int, notes: Mapping[str, Any]) -> None:
    """Let a folder hold what the deals bring, as if a batch had just been done there."""
    shutil.rmtree(target.folder, ignore_errors=True)
    memory, names = Memory(spark, target.folder), target.names()
    memory.begin(batch)
    for deal in deals:
        source = Memory(spark, deal.source.folder)
        source.begin(source.committed.batch + 1)
        for table, name in deal.called(source.committed.tables, names).items():
            if deal.only is None:
                memory.adopt(name, source, table)
                continue
            rows = source.read(table, -math.inf)
            if rows is not None:
                memory.append(name, deal.of_rows(rows, table))
        for folder, name in deal.called(source.committed.folders, names).items():
            if deal.only is not None:
                raise RunError(f"what is remembered as {folder!r} cannot be dealt out.")
            shutil.copytree(str(source.folder_of(folder)), memory.new_folder(name), dirs_exist_ok=True)
    memory.commit(notes)

"""What shipping every row would have cost: rows as they are, packed as channels pack them, on their way to the sink.

Nothing here is modelled. Of each file, the columns that the questions read are packed in the format of channels, one
batch a file, and counted on each link of the cheapest way from where the file lies to where answers are delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.algebra.expressions.tree import columns_of
from tradewind.algebra.operators.core import Map, Source
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.placement.planners import Chosen
from tradewind.rewrites.engine import rewrite
from tradewind.spark.packing import packed


@dataclass(frozen=True, slots=True)
class Shipped:
    """What crosses a link where every row is shipped."""

    start: str
    end: str
    bytes: int
    rows: int


def everything(chosen: Chosen) -> tuple[Shipped, ...]:
    """What would cross each link if all rows went to where the plan's answers are delivered, columns that no question
    reads left out.
    """
    found = chosen.problem.deployment
    network, contents = chosen.problem.network, chosen.problem.contents
    weights = {name: _origins(found, name, needed(found, name)) for name in found.graph().sources()}
    moved: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    for hop in chosen.shipped.hops:
        source = contents[hop.content].operator
        if isinstance(source, Source):
            for origin in source.origins:
                size, count = weights[source.stream][origin]
                moved[hop.link] += size
                rows[hop.link] += count
    ends = {link: (network.name(network.start[link]), network.name(network.end[link])) for link in moved}
    return tuple(Shipped(*ends[link], moved[link], rows[link]) for link in sorted(moved))


def needed(found: Deployment, stream: str) -> frozenset[str]:
    """The columns of a stream that some question reads."""
    read: set[str] = set()
    for node in rewrite(found.graph()).graph:
        for child in node.inputs:
            if isinstance(child, Source) and child.stream == stream:
                # What is not narrowed right above its source may read all of it.
                kept = [columns_of(each) for _, each in node.columns] if isinstance(node, Map) else ()
                read.update(*kept or (child.schema.names,))
    return frozenset(read)


def packed_bytes(table: pa.Table, columns: Collection[str]) -> int:
    """What some columns of a table weigh as one batch on a channel."""
    kept = table.select([name for name in table.column_names if name in columns]).combine_chunks()
    return sum(len(packed(batch)) for batch in kept.to_batches())


def _origins(found: Deployment, stream: str, columns: Collection[str]) -> dict[str, tuple[int, int]]:
    """The packed bytes and the rows of a stream's files at each of its origins."""
    base = Path(found.name).parent
    weights = {}
    for site, origin in found.streams[stream].origins.items():
        tables = [pq.read_table(path, columns=list(columns)) for path in sorted((base / str(origin.path)).iterdir())]
        weights[site] = sum(packed_bytes(one, columns) for one in tables), sum(one.num_rows for one in tables)
    return weights

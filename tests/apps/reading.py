"""The rows that an application wrote, read from where its deployment says, in the order in which they arrive."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tradewind.algebra.graph import Graph
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.interpreter.run import Batch, Run


def files_of(found: Deployment, stream: str, origin: str) -> list[Path]:
    """An origin's files, oldest first."""
    declared = found.streams[stream].origins[origin]
    assert declared.format == "parquet"
    folder = Path(found.name).parent / str(declared.path)
    return sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)


def rows_in(path: Path) -> list[tuple]:
    """A file's rows as the interpreter takes them."""
    table = pq.read_table(path)
    columns = [
        column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column for column in table.itercolumns()
    ]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def batches_of(found: Deployment) -> list[Batch]:
    """One batch for each stretch of time, with the rows of all streams that arrive in it."""
    held = {
        (stream, origin, path.name): path
        for stream, declared in found.streams.items()
        for origin in declared.origins
        for path in files_of(found, stream, origin)
    }
    batches: list[Batch] = []
    for part in sorted({name for _, _, name in held}):
        batch: dict[str, dict[str, list[tuple]]] = {}
        for (stream, origin, name), path in held.items():
            if name == part:
                batch.setdefault(stream, {})[origin] = rows_in(path)
        batches.append(batch)
    return batches


def answers_of(graph: Graph, batches: list[Batch]) -> dict[str, Counter]:
    """The interpreter's answers once all batches have come; no row of them is late."""
    run = Run(graph)
    for batch in batches:
        run.feed(batch)
    run.end()
    assert {late for origins in run.late().values() for late, _ in origins.values()} == {0}
    return {name: run.answer(name) for name in graph.names}


def joined(batches: list[Batch]) -> list[Batch]:
    """All batches as one."""
    whole: dict[str, dict[str, list]] = {}
    for batch in batches:
        for stream, origins in batch.items():
            for origin, rows in origins.items():
                whole.setdefault(stream, {}).setdefault(origin, []).extend(rows)
    return [whole]

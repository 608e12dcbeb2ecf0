"""Files of every format, and damage done to them."""

from __future__ import annotations

import gzip
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq

from tests.spark.sources.writing import SIMPLE, csv_lines, json_lines, xml_document
from tradewind.spark.types import to_arrow

FORMATS = ("parquet", "orc", "arrow", "csv", "json", "xml")


def whole(path: Path, format_: str, given: Sequence[tuple[Any, ...]], chance: random.Random) -> None:
    """A file of rows in the simple schema, with one of the format's compressions and layouts."""
    table = to_arrow(given, SIMPLE)
    if format_ == "parquet":
        compression, size = chance.choice(("none", "snappy", "zstd")), chance.choice((50, 10_000))
        pq.write_table(
            table, path, compression=compression, row_group_size=size, write_page_checksum=chance.random() < 0.3
        )
    elif format_ == "orc":
        po.write_table(table, path, compression=chance.choice(("uncompressed", "zlib", "zstd")))
    elif format_ == "arrow":
        layout = chance.choice((pa.ipc.new_file, pa.ipc.new_stream))
        with pa.OSFile(str(path), "wb") as file, layout(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    else:
        data = {"csv": csv_lines, "json": json_lines, "xml": xml_document}[format_](list(given), SIMPLE)
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def damage(path: Path, chance: random.Random) -> None:
    """Some bytes are others, the end is missing, or everything is something else."""
    data = bytearray(path.read_bytes())
    match chance.choice(("few", "regular", "end", "swapped")):
        case "few":
            for _ in range(chance.choice((1, 5, 50))):
                data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
        case "regular":
            data = damaged_pages(data)
        case "end":
            data = data[: chance.randrange(len(data))]
        case "swapped":
            data = bytearray(gzip.compress(data) if chance.random() < 0.5 else chance.randbytes(len(data)))
    path.write_bytes(data)


def damaged_pages(data: bytes | bytearray) -> bytearray:
    """A file whose end is as it was, and every 97th byte of its first half is another."""
    found = bytearray(data)
    for place in range(min(200, len(found) // 4), len(found) // 2, 97):
        found[place] ^= 0xFF
    return found

"""The market of Nexmark as Parquet files, a folder for each stream, for the deployments in examples/nexmark."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq

from tradewind.apps.nexmark import START, USUAL, Market, events
from tradewind.errors import InputError


def write(folder: str | Path, count: int, seed: int, files: int = 8, market: Market = USUAL) -> dict[str, list[Path]]:
    """Write `count` events under the folder, each stream into so many files in the order of arrival.

    The files are dated a second apart: who reads a folder by the files' dates reads the rows in that order.
    """
    if files < 1:
        raise InputError(f"a stream cannot be written into {files} files.")
    tables = events(count, seed, market)
    for name in tables:
        if any(Path(folder, name).glob("*")):
            raise InputError(f"{Path(folder, name)} has files already.", hint="give an empty folder.")
    written: dict[str, list[Path]] = {name: [] for name in tables}
    for name, table in tables.items():
        Path(folder, name).mkdir(parents=True, exist_ok=True)
        for number in range(files):
            first, after = (table.num_rows * part // files for part in (number, number + 1))
            path = Path(folder, name, f"part-{number:05}.parquet")
            pq.write_table(table.slice(first, after - first), path)
            dated = START // 1_000_000 + number
            os.utime(path, (dated, dated))
            written[name].append(path)
    return written

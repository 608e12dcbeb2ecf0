"""What is noted in the database beside the tables themselves, in the same transactions."""

from __future__ import annotations

from tradewind.spark.tables.database import Database

_TABLES = """
CREATE TABLE IF NOT EXISTS tradewind_tables (
    name TEXT PRIMARY KEY,
    columns TEXT NOT NULL, -- with their types, and the key
    number BIGINT NOT NULL, -- what the next row of a table without a key gets
    forgotten BIGINT, -- steps up to this time are kept no longer
    batch BIGINT -- the last that was committed
)"""

_SEGMENTS = """
CREATE TABLE IF NOT EXISTS tradewind_segments (
    name TEXT NOT NULL, -- of the table
    id BIGINT NOT NULL,
    earliest BIGINT NOT NULL, -- the times of the first
    latest BIGINT NOT NULL, -- and the last step
    steps BIGINT NOT NULL, -- how many there are
    number BIGINT NOT NULL, -- the table's when the segment began
    PRIMARY KEY (name, id)
)"""

_PARTS = """
CREATE TABLE IF NOT EXISTS tradewind_parts (
    name TEXT NOT NULL,
    segment BIGINT NOT NULL,
    kind TEXT NOT NULL, -- steps of a box, what they changed in the table, or what a box was answered
    box TEXT NOT NULL, -- its fingerprint
    content {blob} NOT NULL, -- in Arrow's stream format
    PRIMARY KEY (name, segment, kind, box)
)"""

_CALLS = """
CREATE TABLE IF NOT EXISTS tradewind_calls (
    name TEXT NOT NULL,
    call BIGINT NOT NULL, -- its number within the last batch
    box TEXT NOT NULL,
    handed BIGINT NOT NULL, -- 1 when rows of the box came with the call
    content {blob}, -- what the call gave for a read box
    PRIMARY KEY (name, box, call)
)"""


def open_books(database: Database) -> None:
    """Make what is missing."""
    for text in (_TABLES, _SEGMENTS, _PARTS, _CALLS):
        database.run(text.format(blob=database.blob))

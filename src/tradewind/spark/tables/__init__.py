"""The named tables of read and update boxes, kept in a database beside a run.

In: per micro-batch the new rows of every box, as Arrow tables of deltas. Out: the tables, as they are after all updates
known so far, and the deltas of what the read boxes are answered. Does not: know Spark.

`store.Tables` takes the rows of a batch. They become steps in the order that `interpreter.storing` defines; each table
does its steps one after the other (`timeline`, `turn`) and keeps them (`history`), so that a late row goes back to its
place and what came after it is done again. A batch is one transaction, in which it is noted that it was done (`calls`).

Statements are evaluated by the interpreter's own functions on rows in memory. The database finds rows by key, or within
bounds that it compares as the interpreter does, and is given back what has changed, thousands of keys at a time. So
SQLite and PostgreSQL mean the same, and nothing that a user wrote reaches either of them.

SQLite rather than DuckDB, because rows are asked for and written one by one: of `UPDATE t SET n = n + 1 WHERE id = ?`
SQLite does 520,000 a second and DuckDB 1,500 (one thread, one transaction, 20,000 keys), and nobody else can read a
file of DuckDB's while it is written. Through all of the above, with the steps kept for late rows, a core does 60,000
updates, 90,000 inserts or 80,000 reads a second when rows come in order; a step that is done again costs as much.
"""

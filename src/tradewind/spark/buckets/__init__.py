"""Operators that look at a row's neighbours, done on a bucket of rows at a time, all its groups at once in arrays.

In: the news of a bucket as Arrow tables, what the bucket remembers, and the mark. Out: deltas or panes, and what to
remember. Does not: know Spark, or read and write files.
"""

"""Expressions over the columns of one row.

In: Spark SQL text. Out: small frozen trees made only of allow-listed functions, typed, printed back as canonical text.
Does not: evaluate (that is the interpreter's and Spark's), or touch sub-queries, files, clocks and randomness.
"""

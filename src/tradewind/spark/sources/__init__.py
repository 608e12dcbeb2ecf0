"""Where streams come from: files of many formats, generated rows, rows that are pushed.

In: an origin's declaration and the files that Spark found to be new. Out: frames of exactly the declared columns, what
is known of their times, and the records that cannot be read. Does not: remember what was read; that is Spark's.
"""

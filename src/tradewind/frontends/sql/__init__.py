"""SQL queries.

In: one SELECT in Spark's dialect and a catalog of what it may name. Out: the last operator of its graph, or an error
that names what is not supported and the nearest thing that is. Does not: pass any of the text on, or know more of the
world than the catalog.
"""

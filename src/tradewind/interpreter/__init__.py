"""The meaning of every graph, and the judge of everything that runs one faster.

In: graphs and plain rows with weights. Out: the answer, its deltas and what is final. Does not: hurry.
"""

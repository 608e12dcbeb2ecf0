"""The operators of a graph.

In: other operators and checked parameters. Out: a node that knows its schema, cannot be wrong, and equals every node
that means the same. Does not: know how it is run, where, or at what cost.
"""

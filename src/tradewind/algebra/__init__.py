"""The algebra: what a continuous query is made of.

In: names, types, expressions. Out: frozen, hashable operator graphs whose schema and invariants were checked when
they were built, and the properties that rules and planners ask. Does not: run, place or price anything.
"""

"""Ready-made applications: made-up data with known properties, and the deployments that ask about it.

In: a seed and a size. Out: rows, the same for the same seed. Does not: run anything.
"""

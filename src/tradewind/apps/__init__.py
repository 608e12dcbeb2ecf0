"""Ready-made applications: made-up data with known properties, and the deployments that ask about it.

In: a seed and a size. Out: rows or files of them, the same for the same seed, and the answers that they must give.
Does not: run anything.
"""

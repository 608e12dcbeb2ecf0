"""Channels on Spark: committed batches come in, results go out as parts and commits.

In: addresses on the backbone. Out: frames of what came, and notes of what was sent. Does not: know what flows.
"""

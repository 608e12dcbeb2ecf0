"""Deployments at work: what a file declares becomes a running query, with its state, progress and results.

In: a checked deployment and a folder for state. Out: deliveries, reports of every batch, answers on demand. Does not:
compute rows; that is Spark's.
"""

"""Runs a graph on Spark: one streaming query, whose micro-batches compute deltas with Catalyst.

In: a graph, where its streams come from and where its results go. Out: deliveries, state and marks that a restart goes
on from. Does not: decide what runs where.
"""

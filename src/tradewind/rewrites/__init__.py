"""Rewrites: other graphs for the same answers.

In: a graph. Out: a graph with equal results that does less work or sends fewer rows, the rules that fired and why, and
alternatives that a planner may weigh. Does not: know sites, rates or prices.
"""

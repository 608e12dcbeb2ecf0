"""Costs: how much flows through every operator, and what that is worth.

In: graphs, declared figures, networks. Out: rates, prices and the value of a plan under an objective. Does not: choose
anything.
"""

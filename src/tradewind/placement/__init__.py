"""Placement: which operators run where, in which order, and what several queries share.

In: choices (contents and the recipes that make them), a network, prices, what runs already. Out: plans, each operator
at a site and each stream on its links, with their cost and how far from the best they can be. Does not: run anything.
"""

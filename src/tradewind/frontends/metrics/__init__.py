"""Metrics of the user's own: what a plan is to be measured by, and the bounds that it must keep.

In: texts by XFlow's grammar. Out: frozen trees. Does not: measure anything.
"""

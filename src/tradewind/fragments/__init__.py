"""Fragments: a plan cut at the borders of sites into graphs that run by themselves, joined by channels.

In: a plan. Out: fragments, channels with their routes, and what differs between two deployments of them. Does not: run
anything, or know Spark or the backbone.
"""

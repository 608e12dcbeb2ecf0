"""Experiments: one file for each published figure, run again with our planners and set beside what was published.

In: seeds and sizes. Out: tables, and charts as pictures and text. Does not: decide anything; it measures what the rooms
below do.
"""

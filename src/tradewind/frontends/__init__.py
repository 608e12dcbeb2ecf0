"""The ways to ask: SQL, Python, and boxes and arrows in a deployment file.

In: text, calls, files. Out: one and the same algebra graph for one and the same question, or errors that say where,
what and how to mend it. Does not: rewrite, place or run.
"""

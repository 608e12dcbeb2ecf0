"""Boxes and arrows by name: the `flow:` of a deployment file.

In: plain data, one mapping per box, and a catalog. Out: operators by box name, or findings that say which key is wrong
and why; and a graph written back as such data. Does not: read YAML or know where in a file a key stands.
"""

"""Pictures of graphs.

In: a graph or an operator, and optionally a note for each node. Out: a tree in text, or a self-contained SVG.
Does not: change graphs, or know what is drawn beside the boxes (sites, rates, rules).
"""

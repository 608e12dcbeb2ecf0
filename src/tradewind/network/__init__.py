"""Networks: sites, directed links, and the cheapest routes over them.

In: declared or generated sites and links. Out: frozen arrays, cheapest routes for any price on the links, and ways to
spread a cost from many sites at once. Does not: know streams, queries or operators.
"""

"""The backbone: durable channels between fragments, and the links that carry them. Only this room imports nats.

In: parts and commits of a fragment's batches. Out: committed batches at every site that wants them, and counts of what
crossed each link. Does not: look into rows.
"""

"""The web: the coordinator's HTTP interface, its metrics and its page.

In: requests, a secret, and a desk that answers for the coordinator. Out: checked questions to the desk, and its answers
as JSON, events, metrics and a page. Does not: know what a deployment is, or decide anything.
"""

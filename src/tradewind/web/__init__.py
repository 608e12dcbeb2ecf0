"""The web: the coordinator's HTTP interface, its metrics and its page; and the metrics of a site.

In: requests, a secret, and a desk that answers for the coordinator or the site. Out: checked questions to the desk, and
its answers as JSON, events, metrics and a page. Does not: know what a deployment is, or decide anything.
"""

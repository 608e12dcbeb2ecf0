"""The deployment file: sites, links, streams and queries, declared in YAML.

In: a file's text. Out: a checked `Deployment` whose queries are algebra graphs, or one error that holds all problems,
each with line and column. Does not: open files, plan or run.
"""

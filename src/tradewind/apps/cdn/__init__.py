"""A content delivery network: nine edge sites in three regions, three datacenters, headquarters, three questions.

In: a seed and a size. Out: the edges' request logs as files, the deployment that asks about them, the answers of plain
Spark SQL to compare with, what shipping every row would have cost, and a page that tells all of it.
Does not: run the deployment.
"""

"""A deployment on many machines: a coordinator that says what is wanted, and an agent at each site that makes it so.

In: deployment files, reports of sites. Out: signed documents of what is wanted, and sites that run their fragments.
Does not: move rows; those go from site to site by links.
"""

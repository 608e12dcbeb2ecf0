"""Converters: plug-ins that turn raw records into columns and back.

In: lines or byte records, many at a time. Out: a table of the declared columns, and why records are bad. Does not: read
files; a converter sees records only.
"""

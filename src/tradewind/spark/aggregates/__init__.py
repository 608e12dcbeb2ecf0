"""Aggregates as Spark SQL: states that are lifted, merged and finished, and answers over weighted rows."""

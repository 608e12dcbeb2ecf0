"""The Spark of the tests of one site serves many sites too."""

from tests.spark.conftest import spark

__all__ = ["spark"]

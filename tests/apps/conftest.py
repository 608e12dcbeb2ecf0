"""One Spark for all tests of a process."""

from tests.spark.conftest import spark

__all__ = ["spark"]

"""One Spark for all tests of a process."""

import pytest

from tradewind.spark.session import start


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = start(2, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()

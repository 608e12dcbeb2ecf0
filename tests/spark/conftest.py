"""One Spark for all tests of a process."""

import pytest

from tradewind.spark.session import start


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = start(2, tmp_path_factory.mktemp("spark"))
    # Compiling a plan takes far longer than running it over a few rows.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield session
    session.stop()

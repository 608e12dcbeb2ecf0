"""One Spark for all tests of a process."""

import pytest

from tradewind.spark.session import fit_plans, start


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    session = start(2, tmp_path_factory.mktemp("spark"), memory="2g")
    # Compiling a plan takes far longer than running it over a few rows.
    fit_plans(session, 0)
    yield session
    session.stop()

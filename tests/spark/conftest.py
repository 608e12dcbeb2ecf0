"""One Spark for all tests of a process."""

import pytest
from pyspark.java_gateway import ensure_callback_server_started

from tests import leaks
from tradewind.spark.session import fit_plans, start


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    with leaks.kept():
        session = start(2, tmp_path_factory.mktemp("spark"), memory="2g")
        # The port at which Java calls back would be opened by the first query.
        ensure_callback_server_started(session.sparkContext._gateway)
    # Spark would look through the stack for where each step was asked for; a streaming query tells that once.
    for form in ("callSite.short", "callSite.long"):
        session.sparkContext.setLocalProperty(form, "a test")
    # Compiling a plan takes far longer than running it over a few rows.
    fit_plans(session, 0)
    yield session
    session.stop()

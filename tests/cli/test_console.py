"""Rows of queries that are delivered to the console: on stdout, where nothing else is to stand there."""

import pyarrow as pa
import pytest

from tradewind.cli.progress import Progress
from tradewind.frontends.deployment.check import load

FILE = """
sites: {a: {cores: 1}}
streams: {s: {schema: "ts TIMESTAMP, k STRING", time: ts, at: {a: {format: push}}}}
queries: {q: {sql: SELECT k FROM s, deliver: {site: a}}}
"""


@pytest.mark.parametrize("aside", [False, True])
def test_rows_leave_stdout_to_the_one_object_that_is_asked_for(capsys, aside) -> None:
    table = pa.table({"k": ["x"], "_final": [True], "_weight": pa.array([1], pa.int64())})
    Progress(True, load(FILE), rows_aside=aside).rows("q", table)
    out, err = capsys.readouterr()
    line = 'q: {"k": "x", "_final": true, "_weight": 1}\n'
    assert (out, err) == (("", line) if aside else (line, ""))

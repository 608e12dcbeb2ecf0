"""Java dies: while Spark starts, or later. Another one is started in the same process."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tradewind.spark import session

pytestmark = [pytest.mark.spark, pytest.mark.faults]

# In a process of its own, since the tests have a Spark of theirs.
SCRIPT = """
import os, signal, sys, threading, time
from pathlib import Path
from py4j.protocol import Py4JError
from pyspark import SparkContext
from tradewind.spark.session import forget, lives, start

def kill():
    while SparkContext._gateway is None:
        time.sleep(0.005)
    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

folder = Path(sys.argv[1])
killer = threading.Thread(target=kill)
killer.start()
try:
    start(1, folder / "tmp", memory="512m", log=folder / "spark.log")
    print("it started")
except (Py4JError, OSError):
    print("it died")
killer.join()
session = start(1, folder / "tmp", memory="512m", log=folder / "spark.log")
print(session.range(3).count())
os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
while lives(session):
    time.sleep(0.05)
forget(session)
print(*(thread.name for thread in threading.enumerate() if "serve_forever" in thread.name))
session = start(1, folder / "tmp", memory="512m", log=folder / "spark.log")
print(session.range(4).count())
session.stop()
"""


@pytest.mark.slow
def test_another_java_is_started_when_one_has_died(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.split("\n")[:4]) == (0, ["it died", "3", "", "4"]), done.stderr[-2000:]


AGENT = """
import os, sys, threading
from pathlib import Path
from pyspark import SparkContext
from tradewind.runtime.cluster.agent import Agent, Post
from tradewind.runtime.cluster.footprint import family
from tradewind.spark.session import forget

agent = Agent(Post(None, "hq", Path(sys.argv[1]), Path(sys.argv[1]) / "state", ""), print)
agent._declared = lambda: type("Declared", (), {"memory": "700m", "spark": "local[1]"})
session = agent._spark()
print(SparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory() // 2**20)
for thread in threading.enumerate():
    if thread.name == "tradewind-warming":
        thread.join()
print(any("tradewind.spark.daemon" in Path(f"/proc/{pid}/cmdline").read_text() for pid in family(os.getpid())))
forget(session)
"""


def test_an_agents_spark_has_the_declared_memory_and_its_workers_parent_before_the_first_batch(tmp_path):
    (tmp_path / "state").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", AGENT, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["700", "True"]), done.stderr[-2000:]


@pytest.mark.parametrize("long", [False, True])
def test_sockets_lie_where_their_paths_fit_and_nothing_is_left_of_a_former_run(tmp_path, monkeypatch, long):
    """The folder of temporary files may have a long path as well, as a user's own often has."""
    place = tmp_path / ("x" * 80 if long else "y")
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place if long else "/tmp"))
    made = [session._sockets(place / "state")["spark.python.unix.domain.socket.dir"] for _ in _twice(place / "state")]
    assert all(len(one.encode()) <= 60 for one in made)
    assert not Path(made[0]).exists()
    assert Path(made[1]).is_dir()
    shutil.rmtree(made[1])


def _twice(folder: Path) -> Iterator[int]:
    """As two runs would that start in one folder."""
    folder.mkdir()
    yield 1
    yield 2

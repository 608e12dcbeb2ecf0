"""A Spark session as Tradewind needs it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tradewind.spark import archive, hadoop, java
from tradewind.spark.classes import Remembered
from tradewind.spark.expressions import SETTINGS

CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"

_SETTINGS = {
    # Meaning, beside what expressions need: timestamps are whole microseconds in files too.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.caseSensitive": "false",
    # Pages of Parquet files that have a checksum are held against it: damage is an error, and no other value.
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
    # Security: a path is never a table.
    "spark.sql.runSQLOnFiles": "false",
    # Speed: batches are small and many, so what does not pay within one is off.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # What its page would show is gathered without a page too: described at length, and looked through by the thousand
    # whenever something is added. Nobody asks for it.
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "100",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    # Hadoop's usual ways with local files start processes (chmod, readlink) for each of them: 0.1 s a batch.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    CHECKPOINTS: "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    # Workers are forked from a parent that has imported what they need.
    "spark.python.daemon.module": "tradewind.spark.daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    # Of what was compacted nothing is needed any more; by default it lies about for ten minutes, a file for each batch.
    "spark.sql.streaming.fileSource.log.cleanupDelay": "30s",
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.sql.codegen.cache.maxEntries": "2000",
    # Room is taken in such pieces for each plan that is sent to tasks, however short it is; by default, 4 MB.
    "spark.broadcast.blockSize": "256k",
    # Sketches and lists of 128 groups (Spark's own bound) are few; beyond it their rows would be sorted.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "20000",
}

Session = SparkSession
"""For those who hold a session without knowing Spark."""

_PREFIX = "tradewind-"
_LONGEST = 60
"""Paths of sockets have at most 108 bytes."""
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what is made there has a name of its own, and is ours alone

FEW = 200_000
"""Fewer rows than this are done sooner if Spark does not compile their plans, and fit one part on their way."""
_MOST_PAGES = 8192
_LEAST_MEGABYTES = 512
"""With less than 450 MB Spark refuses to start."""
_PARTITIONS = "spark.sql.shuffle.partitions"


def start(
    cores: int, folder: Path, *, memory: str = "1g", master: str | None = None, log: Path | None = None
) -> SparkSession:
    """A session with so many cores of this machine, or at a master; its temporary files lie in the folder.

    What Spark has to say goes to the log, so that people and programs read only what we say.
    """
    folder.mkdir(parents=True, exist_ok=True)
    memory = _fitting(memory, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master or f"local[{cores}]").appName("tradewind")
    settings = {
        **_SETTINGS,
        **_sockets(folder),
        **SETTINGS,
        **_pages(memory, master),
        **_addresses(master),
        "spark.driver.extraJavaOptions": f"{java.options()} {_temporary(folder)} {archive.used()}".strip(),
        "spark.driver.memory": memory,
        _PARTITIONS: str(cores),
        "spark.default.parallelism": str(cores),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with _silent(log), _signals_kept():
            _start_java(settings)
            session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        hadoop.trim(session.sparkContext)
    except (Py4JError, OSError):
        # Java has died before it was ready: whoever tries again needs another one.
        _let_go()
        raise
    return session


def _pages(memory: str, master: str | None) -> dict[str, str]:
    """The pieces in which room is taken for each table that is grouped or sorted, however few rows it has: by default
    up to 64 MB. A task can have 8,192 of them, so these are as many as memory can hold.

    >>> _pages("512m", None), _pages("64g", "local[8]"), _pages("2g", "spark://far:7077")
    ({'spark.buffer.pageSize': '1m'}, {'spark.buffer.pageSize': '8m'}, {})
    """
    if not _is_local(master):
        return {}
    return {"spark.buffer.pageSize": f"{max(1, -(-_megabytes(memory) // _MOST_PAGES))}m"}


def _megabytes(memory: str) -> int:
    return int(memory[:-1]) * {"m": 1, "g": 1024}[memory[-1].lower()]


def driver_memory(declared: str, master: str | None) -> str:
    """The memory of Spark's own Java at a site that is declared to have so much: all of it with a local master. A
    driver of a cluster plans and collects; the memory of its executors is the cluster's.

    >>> driver_memory("8g", None), driver_memory("8g", "local[2]"), driver_memory("8g", "spark://far:7077")
    ('8g', '8g', '1g')
    """
    return declared if _is_local(master) else "1g"


def _fitting(memory: str, machine: int) -> str:
    """Memory that Spark starts with, as far as a machine of so many bytes has it.

    >>> [_fitting(one, 8 * 2**30) for one in ("2g", "64m", "64g")]
    ['2g', '512m', '8192m']
    """
    wanted = _megabytes(memory)
    fits = max(_LEAST_MEGABYTES, min(wanted, machine // 2**20))
    return memory if fits == wanted else f"{fits}m"


def _is_local(master: str | None) -> bool:
    return master is None or master.startswith("local")


def _addresses(master: str | None) -> dict[str, str]:
    """Where Spark's own ports (driver and block manager) listen. By default that is the machine's network address, for
    anybody; with a local master nobody but this machine needs them. A cluster has to reach the driver: Kubernetes and
    YARN then make a secret for each application, by which its processes know each other, and encrypt what they say. A
    standalone master has one secret for all, so its operator sets it (docs/deployment.md).

    >>> _addresses("local[2]")
    {'spark.driver.bindAddress': '127.0.0.1', 'spark.driver.host': '127.0.0.1'}
    >>> _addresses("k8s://far:6443")
    {'spark.authenticate': 'true', 'spark.network.crypto.enabled': 'true'}
    """
    if _is_local(master):
        return dict.fromkeys(("spark.driver.bindAddress", "spark.driver.host"), "127.0.0.1")
    if master is not None and master.startswith("spark://"):
        return {}
    return {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


def _temporary(folder: Path) -> str:
    """Java's own temporary files, libraries that it unpacks among them, lie where a restart finds and removes them."""
    return f'-Djava.io.tmpdir="{folder.absolute()}"'


def _sockets(folder: Path) -> dict[str, str]:
    """Sockets in the file system: by TCP each talk with a Python worker waits 40 ms for an acknowledgement that is held
    back.
    """
    place = str(folder.absolute())
    short = place if len(place.encode()) <= _LONGEST else _short_place(folder)
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": short}


def _short_place(folder: Path) -> str:
    """A folder among the machine's temporary files, for one whose path is too long. It goes with this process; if that
    is killed, whoever starts in the same folder next finds it by a link, and removes it.
    """
    link = folder / "sockets"
    if link.is_symlink():
        former = link.readlink()
        if str(former.parent) in _roomy() and former.name.startswith(_PREFIX):
            shutil.rmtree(former, ignore_errors=True)
        link.unlink()
    # Eight characters are drawn at random; the folder of temporary files may itself have a path that is too long.
    short = (place for place in _roomy() if len(f"{place}/{_PREFIX}".encode()) + 8 <= _LONGEST)
    made = tempfile.mkdtemp(prefix=_PREFIX, dir=next(short, None))
    link.symlink_to(made)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def _roomy() -> list[str]:
    """Folders for temporary files that can be written to here."""
    return [place for place in (tempfile.gettempdir(), *_TEMPORARY) if os.access(place, os.W_OK)]


def warm_workers(session: SparkSession) -> None:
    """Let Spark start the parent of its Python workers aside, while all else is put together: its imports take more
    than a second, which the first batch would wait for.
    """

    def warm() -> None:
        # Whatever goes wrong, the first batch will tell.
        with suppress(Exception):
            another(session).range(1).mapInArrow(_as_they_are, "id BIGINT").collect()

    threading.Thread(target=warm, name="tradewind-warming", daemon=True).start()


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def another(session: SparkSession) -> SparkSession:
    """A session with settings of its own on the same Spark; what was registered is known there too."""
    # Settings change with every batch, and those of one fragment must not be another's. A new session, as opposed to a
    # cloned one, would not find data sources that are registered in Python.
    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())  # noqa: SLF001 - as just said


@contextmanager
def _signals_kept() -> Iterator[None]:
    """Spark takes Ctrl-C for itself when it is started; whoever had it before has it again."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextmanager
def one(cores: int, folder: Path, log: Path) -> Iterator[SparkSession]:
    """A session for a while."""
    session = start(cores, folder, log=log)
    try:
        yield session
    finally:
        session.stop()


def lives(session: SparkSession) -> bool:
    """Whether its Java is there and has not stopped it."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - nothing else tells
    except (Py4JError, AttributeError, OSError):
        return False


def forget(session: SparkSession) -> None:
    """Let go of a session whose Java has died, so that another one can be started in this process."""
    with suppress(Py4JError, OSError):
        session.stop()
    # That may have ended where Java did not answer: a thread of PySpark's goes on then, which listens to Java.
    listening = getattr(session.sparkContext, "_accumulatorServer", None)
    if listening is not None:
        listening.shutdown()
    _let_go()


def end_java() -> None:
    """Let Java end, and wait for that: what it does at its end is done then."""
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark lets Java end only with this process
    if gateway is not None:
        _let_go()
        gateway.proc.stdin.close()
        gateway.proc.wait()


def kill_java() -> None:
    """End Java at once, whatever it is at. Who waits for it learns that it is gone."""
    gateway = SparkContext._gateway  # noqa: SLF001 - as above
    if gateway is not None:
        gateway.proc.kill()


def _let_go() -> None:
    """Forget a Java that is not there any more."""
    gateway = SparkContext._gateway  # noqa: SLF001 - PySpark has no other way to begin again
    if gateway is not None:
        with suppress(Py4JError, OSError):
            gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001


def _start_java(settings: Mapping[str, str]) -> None:
    """Start Java, unless it runs already, in a session of its own: a signal to our process group is ours to answer.

    Java ends with us in any case, since it reads from a pipe that we hold.
    """
    if SparkContext._gateway is None:  # noqa: SLF001 - the builder would start Java in our own session
        conf = SparkConf().setAll(list(settings.items()))
        gateway = launch_gateway(conf, {"start_new_session": True})  # type: ignore[no-untyped-call] # PySpark has no types here
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)  # noqa: SLF001 - as above
        SparkContext._jvm = Remembered.of(SparkContext._jvm)  # noqa: SLF001 - as above


def fit_plans(session: SparkSession, rows: int) -> None:
    """Let Spark plan for so many rows, those that are new and those that are remembered.

    Many are dealt out to all cores, and plans for them are compiled, and changed as Spark sees them. Few stay in one
    place: no stage waits for another then. Compiling takes longer than all the rest for some ten thousand rows.
    """
    many = rows >= FEW
    session.conf.set(_PARTITIONS, str(session.sparkContext.defaultParallelism if many else 1))
    session.conf.set("spark.sql.codegen.wholeStage", str(many).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "FALLBACK" if many else "NO_CODEGEN")
    session.conf.set("spark.sql.adaptive.enabled", str(many).lower())


def partitions(session: SparkSession) -> int:
    """How many parts rows are dealt out to when they are grouped."""
    return int(session.conf.get(_PARTITIONS) or 1)


@contextmanager
def _silent(log: Path | None) -> Iterator[None]:
    """What is started meanwhile writes to the log for as long as it lives: Java keeps the files that it was given."""
    if log is None:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        with log.open("ab") as file:
            for place in (1, 2):
                os.dup2(file.fileno(), place)
        yield
    finally:
        for place, own in zip((1, 2), kept, strict=True):
            os.dup2(own, place)
            os.close(own)

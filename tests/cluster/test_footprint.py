import os
import subprocess
import sys
import threading

from tradewind.runtime.cluster.footprint import family, memory_bytes


def test_what_descendants_hold_counts_too():
    child = subprocess.Popen([sys.executable, "-c", "x = b'x' * 50_000_000; input()"], stdin=subprocess.PIPE)
    try:
        while memory_bytes(child.pid) < 50_000_000:
            assert child.poll() is None
        assert memory_bytes() > memory_bytes(child.pid) > 50_000_000
        assert child.pid in set(family(os.getpid()))
    finally:
        child.communicate(b"\n")
    assert memory_bytes(child.pid) == 0


def test_processes_that_come_and_go_meanwhile_do_no_harm():
    stopping = threading.Event()

    def churn() -> None:
        while not stopping.is_set():
            subprocess.run(["true"], check=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert all(memory_bytes() > 0 for _ in range(200))
    finally:
        stopping.set()
        thread.join()

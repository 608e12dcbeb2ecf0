"""Signals that end what is served, whatever the main thread is at when they come."""

import subprocess
import sys

import pytest

_HOLDING = """
import os, signal
from tradewind.cli.serve import interruptible
with interruptible() as stopping:
    with stopping._cond:  # as for a moment in each wait
        for _ in range(3):
            os.kill(os.getpid(), signal.{})
    assert stopping.wait(10)
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_is_passed_on_also_while_the_event_is_held(name):
    done = subprocess.run([sys.executable, "-c", _HOLDING.format(name)], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")

"""Limits in time that follow how busy the machine is: what a quiet machine does in a second takes a busy one longer."""

import os


def within(seconds: float) -> float:
    """So many seconds of a quiet machine, as they are on this one now. A core's work that waits for a core, as the
    machine's load tells it, takes as many times as long.

    >>> within(2.0) >= 2.0
    True
    """
    return seconds * (1.0 + os.getloadavg()[0])

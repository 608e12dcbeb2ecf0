"""What goes wrong far from the user is told in a line that helps."""

import pytest

from tradewind.spark.query import _told

WORKER = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n{}\n SQLSTATE: 39000"


@pytest.mark.parametrize(
    ("said", "what", "hint"),
    [
        (
            WORKER.format("tradewind.errors.RunError: storing rows: no room. Hint: free disk space."),
            "a batch failed: storing rows: no room.",
            "free disk space.",
        ),
        (
            WORKER.format("OSError: [Errno 28] No space left on device"),
            "a batch failed: OSError: [Errno 28] No space left on device",
            "free disk space",
        ),
        ("java.lang.X: y\nCaused by: java.io.Z: w\n\tat a.b", "a batch failed: java.io.Z: w", "spark.log"),
    ],
)
def test_the_last_cause_is_told(said, what, hint):
    told = _told(RuntimeError(said))
    assert told.what == what  # type: ignore[attr-defined]
    assert hint in told.hint  # type: ignore[attr-defined]

"""Failures of a batch that damaged files may be the cause of."""

from __future__ import annotations

import pyarrow as pa

from tradewind.errors import TradewindError

_SIGNS = (
    "FAILED_READ_FILE",
    "org.apache.parquet",
    "UnicodeDecodeError",
    "ArrowInvalid",
)
"""What Spark says where a file cannot be read, and a worker where what was read is no text or no column."""


def may_be_damage(error: BaseException) -> bool:
    """Whether a batch may have failed because a file is damaged, or gone since it was listed. A batch that is done
    again for nothing fails again; one that is not leaves a whole site behind a single file.
    """
    if isinstance(error, TradewindError):
        return False
    return isinstance(error, UnicodeDecodeError | pa.ArrowInvalid | FileNotFoundError) or any(
        sign in str(error) for sign in _SIGNS
    )

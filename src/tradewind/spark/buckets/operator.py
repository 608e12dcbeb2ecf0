"""What every operator over buckets is: from the news of a bucket and what it remembers to deltas or panes.

News, deltas and panes are Arrow tables. Beside a stream's own columns they have `_due` (microseconds since 1970; NULL
for what can change until the end) and `_weight` (below zero takes back). Panes are windows with their members, for
others to aggregate: `_pane` numbers them, `_sign` is -1 for one that is taken back, `_count` says how often a member
is there, `_window` is the window and `_pane_due` by when it is settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tradewind.spark.buckets.arrays import Array

DUE, WEIGHT = "_due", "_weight"
PANE, SIGN, COUNT = "_pane", "_sign", "_count"
PANE_WINDOW, PANE_DUE = "_window", "_pane_due"

State = dict[str, Array]
"""What a bucket remembers, by name. A table whose name holds `-cold-` never changes: who has stored it need not do so
again, and who loads the state may map it into memory, since it is only read when late rows come.
"""


class Moment(NamedTuple):
    """Where the input stands after a batch, in microseconds or infinite."""

    mark: float
    """All rows that are settled before are here, but for late ones; infinite when the input has ended."""
    frozen: float
    """Nothing will come any more about rows settled before this: what only they need may be forgotten."""


class BucketOperator(Protocol):
    """An operator over the rows of one bucket. Small, and it can be pickled."""

    def advance(self, state: State, news: Sequence[Array], moment: Moment) -> tuple[Array, State]:
        """The answer's news, and what to remember, after one batch; an empty state is the beginning."""

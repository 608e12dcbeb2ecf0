"""Work that is done aside, so that a site can go on looking meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tradewind.errors import TradewindError


class Errand:
    """Some work that is done aside."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.problem: str | None = None
        self._work = work
        self._thread = threading.Thread(target=self._do, name="tradewind-errand", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether it is done, well or not."""
        return not self._thread.is_alive()

    def wait(self) -> None:
        """Wait until it is."""
        self._thread.join()

    def _do(self) -> None:
        try:
            self.result = self._work()
        except TradewindError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is tried again, and told
            self.problem = f"{type(error).__name__}: {error}"

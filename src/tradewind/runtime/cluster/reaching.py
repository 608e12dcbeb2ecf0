"""Whether an agent reaches its coordinator, told to people once when it does not, and once when it does again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tradewind.backbone.connection import ShutOutError
from tradewind.errors import TradewindError

_REFUSED, _AWAY = 2.0, 10.0
"""Seconds after which it is said that a site is refused, and that its coordinator is not there."""


@dataclass
class Reaching:
    """What an agent says of its coordinator. No clock of its own."""

    coordinator: str
    site: str
    say: Callable[[str], None]
    _since: float | None = None
    _refused_since: float | None = None
    _said: str | None = None

    def failed(self, error: TradewindError, epoch: int, now: float) -> None:
        """It was not reached once more; the site goes on with an epoch."""
        self._since = now if self._since is None else self._since
        if not isinstance(error, ShutOutError):
            self._refused_since = None
            if now - self._since >= _AWAY:
                self._once("away", f"cannot reach the coordinator at {self.coordinator} for {now - self._since:.0f} s; "
                           f"goes on with epoch {epoch}. {error}")  # fmt: skip
            return
        self._refused_since = now if self._refused_since is None else self._refused_since
        if now - self._refused_since >= _REFUSED:
            self._once(
                "refused",
                f"the coordinator at {self.coordinator} refuses this site's certificate: it was shut out, has joined "
                f"anew elsewhere, or the certificate is over; goes on with epoch {epoch}. "
                f"Hint: tradewind token {self.site}, then start the agent with --join.",
            )

    @property
    def away(self) -> bool:
        """Whether it was not reached when it was last spoken to."""
        return self._since is not None

    def reached(self, now: float) -> None:
        """It was reached."""
        if self._said is not None and self._since is not None:
            away = now - self._since
            self._tell(f"the coordinator at {self.coordinator} is reached again, after {away:.0f} s")
        self._since = self._refused_since = self._said = None

    def _once(self, what: str, text: str) -> None:
        if self._said != what:
            self._said = what
            self._tell(text)

    def _tell(self, text: str) -> None:
        self.say(f"site {self.site}: {text}")

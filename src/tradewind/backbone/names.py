"""Where a channel is to be found on the backbone: the names of its stream and of its subjects."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z0-9-]{1,40}")


@dataclass(frozen=True, slots=True)
class Address:
    """A channel at a site, as one deployment names it; each site that has the channel has a stream of its own.

    >>> Address("cdn", "eu-dc", "partial-1").commits
    'tw.cdn.eu-dc.partial-1.commit'
    """

    deployment: str
    site: str
    channel: str

    @property
    def stream(self) -> str:
        """The JetStream stream."""
        return "_".join(("tw", *self._tokens))

    @property
    def parts(self) -> str:
        """The subject of rows."""
        return ".".join(("tw", *self._tokens, "part"))

    @property
    def commits(self) -> str:
        """The subject of commits."""
        return ".".join(("tw", *self._tokens, "commit"))

    @property
    def _tokens(self) -> tuple[str, ...]:
        return tuple(token(part) for part in (self.deployment, self.site, self.channel))


def token(name: str) -> str:
    """A name as one word of a subject; names that hold other signs are told apart by a hash.

    >>> token("eu-dc"), token("Zürich 1")
    ('eu-dc', 'Z-rich-1-x0b0065d8')
    """
    if _PLAIN.fullmatch(name) and not re.search(r"-x[0-9a-f]{8}$", name):
        return name
    readable = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:24]
    return f"{readable}-x{hashlib.sha256(name.encode()).hexdigest()[:8]}"

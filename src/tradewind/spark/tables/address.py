"""The address of the database that keeps tables, and the name under which messages mention it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_TOLD = (
    "Connection refused", "password authentication failed", "no password supplied", "does not exist",
    "timeout expired", "timed out", "No route to host", "Network is unreachable", "Name or service not known",
    "failed to resolve host", "too many connections", "the database system is starting up", "no pg_hba.conf entry",
    "SSL", "server closed the connection unexpectedly", "permission denied",
)  # fmt: skip
"""What a server or its client library may say of a connection, word for word; none of it is taken from the address."""


@dataclass(frozen=True)
class Address:
    """Where tables are kept. Messages are written from `shown`: `url` may hold what only the environment knows."""

    url: str = field(repr=False)
    shown: str
    hidden: bool = False
    """Whether something in `url` must not be told."""
    allowed: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    """Raises where the file may not be written to; asked before each transaction, since links may come later."""

    @staticmethod
    def of(url: str | Address) -> Address:
        """The address that a URL or the path of a file is; a password in it is not shown."""
        if isinstance(url, Address):
            return url
        if not re.match(r"postgres(ql)?://", url):
            return Address(url, url)
        try:
            parts = urlsplit(url)
            return Address(url, f"{parts.scheme}://{parts.hostname or ''}{parts.path}", parts.password is not None)
        except ValueError:
            return Address(url, url.partition("://")[0] + "://…", hidden=True)

    def __str__(self) -> str:
        return self.shown

    def reason(self, error: Exception) -> str:
        """Why it cannot be used, without what must not be told: errors quote paths, hosts, users and pieces of URLs."""
        if isinstance(error, OSError):
            return error.strerror or type(error).__name__
        if isinstance(error, UnicodeError):
            return "it holds characters that cannot be sent"
        if not self.hidden:
            return str(error).strip().rstrip(".")
        said = [one for one in _TOLD if one in str(error)]
        return ", ".join(said) or type(error).__name__

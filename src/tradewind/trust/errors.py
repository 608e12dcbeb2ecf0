"""The error of this room. It never holds a secret: not a key, not a token, not a part of one."""

from __future__ import annotations

from tradewind.errors import InputError


class TrustError(InputError):
    """A token, certificate, request or signature that is not to be trusted, or a folder of keys that cannot be used."""

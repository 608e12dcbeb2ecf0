"""Signatures of plans: whoever holds the verifying key can tell what the coordinator has said from all else."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tradewind.trust.errors import TrustError


def canonical(document: dict[str, Any]) -> bytes:
    """The one way to write a document, so that both sides sign and check the same bytes.

    >>> canonical({"plan": {"b": 1, "a": "ä"}, "epoch": 3}).decode()
    '{"epoch":3,"plan":{"a":"ä","b":1}}'
    """
    try:
        text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except (TypeError, ValueError, RecursionError):
        raise TrustError(
            "the document cannot be written as JSON.",
            where="signing",
            hint="it may hold text, finite numbers, truth values, null, lists, and objects whose keys are text.",
        ) from None


def verify(payload: bytes, signature: str, verifying_key: str) -> None:
    """Raises TrustError unless the signature was made for exactly these bytes with the key's other half."""
    key = public_key(verifying_key)
    try:
        key.verify(base64.b64decode(signature, validate=True), payload)
    except (InvalidSignature, binascii.Error, ValueError):
        raise TrustError(
            "the signature does not fit.",
            where="signing",
            hint="it was changed on its way, or another coordinator made it. A site that moved must join again.",
        ) from None


def public_key(verifying_key: str) -> Ed25519PublicKey:
    """The key that a text stands for."""
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(verifying_key, validate=True))
    except (binascii.Error, ValueError):
        raise TrustError(
            "this is not a key for checking signatures.", where="signing", hint="join again to get the right one."
        ) from None

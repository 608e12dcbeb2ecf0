"""Private keys: made here, kept here, and written only into files that nobody else can read."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from tradewind.trust.errors import TrustError


def fresh() -> ec.EllipticCurvePrivateKey:
    """A new key for a certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def written(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    """A key as PEM; nats-server and OpenSSL read it as it is."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def certificate_key(pem: bytes, where: str) -> ec.EllipticCurvePrivateKey:
    """The key of a certificate that a text holds."""
    key = _read(pem)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise _damaged(where)
    return key


def signing_key(pem: bytes, where: str) -> ed25519.Ed25519PrivateKey:
    """The key for signing plans that a text holds."""
    key = _read(pem)
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise _damaged(where)
    return key


def _read(pem: bytes) -> object:
    try:
        return serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _damaged(where: str) -> TrustError:
    return TrustError("the key is damaged.", where=where, hint="bring it back from a backup.")

"""TLS settings: both sides show certificates, and believe one authority only."""

from __future__ import annotations

import hmac
import ssl
from pathlib import Path

from tradewind.trust.certificates import certificate, fingerprint, is_authority, pem_of
from tradewind.trust.errors import TrustError


def client(ca: Path, own_certificate: Path, key: Path) -> ssl.SSLContext:
    """For who connects: shows a certificate, and checks the other's and its name."""
    return _equipped(_begun(ssl.PROTOCOL_TLS_CLIENT), ca, own_certificate, key)


def server(ca: Path, own_certificate: Path, key: Path, *, required: bool) -> ssl.SSLContext:
    """For who listens: shows a certificate, and checks the other's, which may be absent unless it is required."""
    context = _begun(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    # Who comes back with a ticket is not checked again; who was cut off, or is over, must be.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    return _equipped(context, ca, own_certificate, key)


def joining(ca_pem: bytes, expected: str) -> ssl.SSLContext:
    """For a site that joins: it has no certificate yet, and knows its authority by the hash in its token alone."""
    found = certificate(ca_pem)
    if not hmac.compare_digest(fingerprint(found).encode(), expected.encode()) or not is_authority(found):
        raise TrustError(
            "the coordinator's authority is not the one that the token was made for.",
            where="joining",
            hint="is the address right? If so, somebody may stand between: do not send the token.",
        )
    context = _begun(ssl.PROTOCOL_TLS_CLIENT)
    # Only what was hashed: the text may hold more.
    context.load_verify_locations(cadata=pem_of(found).decode())
    return context


def _begun(protocol: ssl._SSLMethod) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


def _equipped(context: ssl.SSLContext, ca: Path, own_certificate: Path, key: Path) -> ssl.SSLContext:
    try:
        context.load_verify_locations(ca)
        context.load_cert_chain(own_certificate, key)
    except OSError:  # ssl's errors are such as well
        raise TrustError(
            "the certificate or its key cannot be used.", where=str(own_certificate.parent), hint="join again."
        ) from None
    return context

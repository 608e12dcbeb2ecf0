"""The authority: it says who is a site and who is the coordinator, and signs plans."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tradewind.trust import keys
from tradewind.trust.certificates import (
    DAY,
    Issuer,
    all_names,
    alternatives,
    certificate,
    fingerprint,
    given_names,
    host_names,
    is_issued_by,
    pem_of,
    requested_key,
    self_signed,
)
from tradewind.trust.errors import TrustError
from tradewind.trust.identity import Identity, Papers
from tradewind.trust.keeping import damaged, keep_json, kept, kept_json, locked
from tradewind.trust.names import COORDINATOR, principal

_FILE = "authority.json"
_OWN = "coordinator"
_DAYS = 3_652  # ten years
_RENEWED = 30 * DAY
_HERE = ("localhost", "127.0.0.1")


class Authority:
    """A certificate authority and a signer of plans, in a folder that only its owner can read.

    `ca_pem` is its certificate, `fingerprint` that certificate's SHA-256, `verifying_key` what signatures are checked
    with. All three may be known to everybody.
    """

    def __init__(self, folder: Path, issuer: Issuer, signer: Ed25519PrivateKey, clock: Callable[[], float]) -> None:
        self.folder = folder
        self.ca_pem = pem_of(issuer.certificate)
        self.fingerprint = fingerprint(issuer.certificate)
        self.verifying_key = base64.b64encode(signer.public_key().public_bytes_raw()).decode()
        self._issuer = issuer
        self._signer = signer
        self._clock = clock

    def __repr__(self) -> str:
        return f"Authority({str(self.folder)!r}, {self.fingerprint[:16]})"

    @staticmethod
    def open(folder: Path, *, clock: Callable[[], float] = time.time) -> Authority:  # noqa: TID251  people's time
        """The authority of a folder; it is made when there is none."""
        with locked(folder, "authority"):
            document = kept_json(folder / _FILE)
            if document is None:
                # Keys and certificate are one file, so that there is never a part of an authority.
                document = _made(clock())
                keep_json(folder / _FILE, document)
        issuer, signer = _read(document, folder / _FILE)
        return Authority(folder, issuer, signer, clock)

    def certify(
        self, csr_pem: bytes, site: str, hosts: Sequence[str] = (), *, edition: int = 1, days: float = 365
    ) -> bytes:
        """A certificate for a site and the hosts at which it listens. Of the request, the key is all that counts."""
        name = principal(site, edition)
        return pem_of(self._issuer.issue(requested_key(csr_pem), name, hosts, self._clock(), days))

    def renew(self, csr_pem: bytes, shown_pem: bytes, site: str, *, edition: int = 1, days: float = 365) -> bytes:
        """A certificate in place of the one that is shown, for the same site and hosts. It must be ours and still good,
        and for this edition of the site's name.
        """
        shown, name = certificate(shown_pem), principal(site, edition)
        if (
            not is_issued_by(shown, self._issuer.certificate)
            or given_names(all_names(shown)) != [name]
            or shown.not_valid_after_utc.timestamp() <= self._clock()
        ):
            raise TrustError("the certificate is not renewed.", where=f"certificate of {site}", hint="join again.")
        return self.certify(csr_pem, site, host_names(shown), edition=edition, days=days)

    def own(self, hosts: Sequence[str] = ()) -> Identity:
        """The coordinator's identity at these hosts and at this machine, made anew when it no longer fits or is over
        within a month.
        """
        wanted = alternatives(COORDINATOR, (*hosts, *_HERE))
        folder = self.folder / _OWN
        with locked(self.folder, "own"):
            found = Identity.load(folder)
            if found is not None and self._still_fits(found, wanted):
                return found
            key = keys.fresh()
            made = self._issuer.issue(key.public_key(), COORDINATOR, (*hosts, *_HERE), self._clock(), 365)
            papers = Papers(COORDINATOR, "", keys.written(key), pem_of(made), self.ca_pem, self.verifying_key)
            return Identity.stored(folder, papers)

    def sign(self, payload: bytes) -> str:
        """A signature of these bytes, which `signing.verify` accepts."""
        return base64.b64encode(self._signer.sign(payload)).decode()

    def _still_fits(self, found: Identity, wanted: list[x509.GeneralName]) -> bool:
        one = certificate(kept(found.certificate) or b"")
        return (
            set(all_names(one)) == set(wanted)
            and is_issued_by(one, self._issuer.certificate)
            and found.verifying_key == self.verifying_key
            and one.not_valid_after_utc.timestamp() > self._clock() + _RENEWED
        )


def _made(now: float) -> dict[str, Any]:
    key = keys.fresh()
    return {
        "certificate": pem_of(self_signed(key, now, _DAYS)).decode(),
        "key": keys.written(key).decode(),
        "signing_key": keys.written(Ed25519PrivateKey.generate()).decode(),
    }


def _read(document: dict[str, Any], path: Path) -> tuple[Issuer, Ed25519PrivateKey]:
    parts = [document.get(name) for name in ("certificate", "key", "signing_key")]
    pems = [part.encode() for part in parts if isinstance(part, str)]
    if len(pems) != len(parts):
        raise damaged(path)
    one, key = certificate(pems[0]), keys.certificate_key(pems[1], str(path))
    if one.public_key() != key.public_key():
        raise damaged(path)
    return Issuer(one, key), keys.signing_key(pems[2], str(path))

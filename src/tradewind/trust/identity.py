"""Who one is: a key that never leaves its folder, the certificate for it, and whom it makes one believe."""

from __future__ import annotations

import shutil
import ssl
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509

from tradewind.trust import keys, tls
from tradewind.trust.certificates import (
    BACK,
    all_names,
    certificate,
    given_names,
    host_names,
    is_authority,
    is_issued_by,
    pem_of,
    request,
)
from tradewind.trust.errors import TrustError
from tradewind.trust.keeping import damaged, explained, keep, keep_json, kept, kept_json, locked, settle
from tradewind.trust.names import names_site, principal
from tradewind.trust.signing import public_key

_KEY, _CERTIFICATE, _CA, _ABOUT = "key.pem", "cert.pem", "ca.pem", "identity.json"
_FILES = (_KEY, _CERTIFICATE, _CA, _ABOUT)
_ASKED = "asked.pem"  # the key of a request that was not answered yet
_NEXT = "next"


@dataclass(frozen=True, slots=True)
class Papers:
    """What makes an identity: all that one needs to prove who one is, and to know the others."""

    name: str
    site: str
    key: bytes = field(repr=False)
    certificate: bytes
    ca: bytes
    verifying_key: str


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a certificate's time: seconds, and as a share of all of it."""

    seconds: float
    share: float


@dataclass(frozen=True)
class Identity:
    """A site's identity, or the coordinator's: the `folder` that holds its files, and its `name` in the certificate."""

    folder: Path
    name: str

    @property
    def key(self) -> Path:
        """The private key, as PEM."""
        return self.folder / _KEY

    @property
    def certificate(self) -> Path:
        """The certificate, as PEM."""
        return self.folder / _CERTIFICATE

    @property
    def ca(self) -> Path:
        """The authority's certificate, as PEM: whom it has certified is believed."""
        return self.folder / _CA

    @property
    def verifying_key(self) -> str:
        """The key that plans are checked with."""
        return self._about("verifying_key")

    @property
    def site(self) -> str:
        """The site; empty for the coordinator."""
        return self._about("site")

    def expires(self) -> float:
        """When the certificate is over, in seconds since 1970."""
        return certificate(kept(self.certificate) or b"").not_valid_after_utc.timestamp()

    def hosts(self) -> list[str]:
        """The hosts that the certificate names, beside the name that the authority gave."""
        return host_names(certificate(kept(self.certificate) or b""))

    def left(self, now: float) -> Left:
        """What is left of its certificate's time, counted from when it was made."""
        one = certificate(kept(self.certificate) or b"")
        end, begin = one.not_valid_after_utc.timestamp(), one.not_valid_before_utc.timestamp() + BACK
        return Left(end - now, (end - now) / max(end - begin, 1.0))

    def client_context(self) -> ssl.SSLContext:
        """For connections to others. Say as `server_hostname` whom one wants: the principal of a site or the
        coordinator's name, rather than a host, of which any site may have some.
        """
        return tls.client(self.ca, self.certificate, self.key)

    def server_context(self, *, required: bool = True) -> ssl.SSLContext:
        """For connections from others, who must show a certificate; with `required=False` they may come without one,
        as a site does that joins.
        """
        return tls.server(self.ca, self.certificate, self.key, required=required)

    @staticmethod
    def load(folder: Path) -> Identity | None:
        """The identity that a folder holds, if there is one."""
        with explained(folder):
            if (folder / _NEXT).exists():
                with locked(folder, "identity"):
                    _move_in(folder)
            if not all((folder / name).exists() for name in _FILES):
                return None
        return Identity(folder, _text(folder, "name"))

    @staticmethod
    def requested(folder: Path, site: str) -> tuple[Path, bytes]:
        """Makes a key for a site, which stays there, and a request for its certificate. What the folder held before
        is good until the answer is received.
        """
        key = keys.fresh()
        made = request(key, principal(site))
        with locked(folder, "identity"):
            keep(folder / _ASKED, keys.written(key))
        return folder / _ASKED, made

    @staticmethod
    def received(folder: Path, site: str, certificate_pem: bytes, ca_pem: bytes, verifying_key: str) -> Identity:
        """Takes the answer to a request, if it is one: a certificate for the key that was made here, for this site,
        from this authority. Whether it is the right authority is for the caller to know (`tls.joining`).
        """
        with locked(folder, "identity"):
            key_pem = kept(folder / _ASKED)
            if key_pem is None:
                raise _refused(site, "none was asked for")
            name = _check(site, certificate(certificate_pem), certificate(ca_pem), key_pem)
            papers = Papers(name, site, key_pem, certificate_pem, ca_pem, verifying_key)
            made = _stored(folder, papers)
            (folder / _ASKED).unlink(missing_ok=True)
        return made

    @staticmethod
    def stored(folder: Path, papers: Papers) -> Identity:
        """Keeps an identity that needs no check: the coordinator's, which certifies itself."""
        with locked(folder, "identity"):
            return _stored(folder, papers)

    def _about(self, what: str) -> str:
        return _text(self.folder, what)


def _check(site: str, given: x509.Certificate, ca: x509.Certificate, key_pem: bytes) -> str:
    """The name by which a certificate that fits calls the site."""
    if keys.certificate_key(key_pem, f"identity of {site}").public_key() != given.public_key():
        raise _refused(site, "it is for another key")
    if not is_authority(ca) or not is_issued_by(given, ca):
        raise _refused(site, "the authority that came with it has not made it")
    names = given_names(all_names(given))
    if len(names) != 1 or not names_site(names[0], site):
        raise _refused(site, "it is for somebody else")
    return names[0]


def _refused(site: str, why: str) -> TrustError:
    return TrustError(
        f"the certificate is not taken: {why}.", where=f"identity of {site}", hint="ask again with a new token."
    )


def _stored(folder: Path, papers: Papers) -> Identity:
    """Several files change at once: they are laid out beside, and the folder's rename makes all of them count. Who dies
    while they move in leaves the rest for the next to do.
    """
    public_key(papers.verifying_key)
    about = {"name": papers.name, "site": papers.site, "verifying_key": papers.verifying_key}
    staging = folder / f"{_NEXT}.partial"
    with explained(folder):
        _move_in(folder)
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(mode=0o700)
        keep(staging / _KEY, papers.key)
        # Written anew: behind the certificate that was checked a text may hold others, and OpenSSL believes them all.
        keep(staging / _CERTIFICATE, pem_of(certificate(papers.certificate)))
        keep(staging / _CA, pem_of(certificate(papers.ca)))
        keep_json(staging / _ABOUT, about)
        staging.rename(folder / _NEXT)
        settle(folder)
        _move_in(folder)
    return Identity(folder, papers.name)


def _move_in(folder: Path) -> None:
    for name in _FILES:
        with suppress(FileNotFoundError):
            (folder / _NEXT / name).replace(folder / name)
    with suppress(FileNotFoundError):
        (folder / _NEXT).rmdir()
    settle(folder)


def _text(folder: Path, what: str) -> str:
    value = (kept_json(folder / _ABOUT) or {}).get(what)
    if not isinstance(value, str):
        raise damaged(folder / _ABOUT)
    return value

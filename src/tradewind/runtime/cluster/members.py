"""Who belongs to a cluster: sites that joined by a token, each with a certificate, until they are shut out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tradewind.backbone.names import token as word_of
from tradewind.errors import InputError
from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity
from tradewind.trust.roll import Roll
from tradewind.trust.tokens import Tokens

_DAYS = 365.0
"""How long certificates of sites are good."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}(~[1-9][0-9]{0,2})?")
"""Of a site, or of one of its workers."""


class Members:
    """The sites of a cluster, on disk."""

    def __init__(self, folder: Path, hosts: Sequence[str] = ()) -> None:
        self.authority = Authority.open(folder)
        self.own: Identity = self.authority.own(list(hosts))
        self.days = _DAYS
        self._tokens = Tokens(folder, self.authority.fingerprint)
        self._roll = Roll(folder)

    def token(self, site: str, seconds: float, hosts: Sequence[str] = ()) -> str:
        """A token for a site, which may then be dialled under these names or addresses."""
        if not _NAME.fullmatch(site):
            raise InputError(f"{site[:60]!r} is no name of a site.", hint="letters, digits, -, _ and dots.")
        return self._tokens.issue(site, seconds, hosts)

    def join(self, token: str, csr: bytes) -> tuple[str, bytes]:
        """The site that a token is for, and its certificate. A token is good for one certificate."""
        admitted = self._tokens.redeem(token)
        site = admitted.site
        edition = self._roll.edition(site)
        certificate = self.authority.certify(csr, site, admitted.hosts, edition=edition, days=self.days)
        self._roll.admit(site)
        return site, certificate

    def renew(self, site: str, csr: bytes, shown: bytes) -> bytes:
        """Another certificate for a member, in place of the one that it shows."""
        return self.authority.renew(csr, shown, site, edition=self._roll.edition(site), days=self.days)

    def revoke(self, site: str) -> None:
        """The site is a member no more; the certificates that it has are of no use to it."""
        self._roll.shut_out(site)

    def principals(self) -> dict[str, str]:
        """Those who belong to it, each with its name in certificates."""
        return self._roll.members()

    def sites(self) -> list[str]:
        """Those who belong to it."""
        return list(self.principals())

    def called(self, word: str) -> str | None:
        """The member that a word of a subject stands for."""
        return next((site for site in self.sites() if word_of(site) == word), None)

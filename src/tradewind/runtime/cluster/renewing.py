"""How a site's certificate is renewed: over the connection that the old one makes good, for a new key, in time.

The coordinator certifies nobody but whom the request comes from, and only what the certificate says that there is: the
server tells them apart, and lets nobody speak for another.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tradewind.backbone.names import token
from tradewind.errors import DataError
from tradewind.runtime.cluster.orders import order_subject
from tradewind.trust.identity import Identity
from tradewind.trust.keeping import kept

KIND = "certificate"
"""The kind of the order by which a certificate comes."""
SUBJECT = "tw.report.*.renew"
_LONGEST = 100_000
_SOONEST, _LATEST = 1.0, 600.0
"""Seconds until it is looked at the time again, and asked again: a tenth of what is left, within these."""


@dataclass
class Renewal:
    """A site's side: when to ask, and what to do with the answer."""

    identity: Identity
    now: Callable[[], float] = time.time  # noqa: TID251  certificates go by people's time
    _next: float = float("-inf")

    def request(self) -> bytes | None:
        """What is to be sent to the coordinator, if it is time: when less than a third of the time is left."""
        now = self.now()
        if now < self._next:
            return None
        left = self.identity.left(now)
        self._next = now + min(max(left.seconds / 10, _SOONEST), _LATEST)
        if left.share > 1 / 3:
            return None
        _, csr = Identity.requested(self.identity.folder, self.identity.site)
        shown = kept(self.identity.certificate) or b""
        return json.dumps({"csr": csr.decode(), "certificate": shown.decode()}).encode()

    def take(self, order: dict[str, Any]) -> None:
        """The answer has come: from now on the new certificate is shown, if it is one for us."""
        one, ca = self.identity, kept(self.identity.ca) or b""
        Identity.received(one.folder, one.site, str(order.get("certificate")).encode(), ca, one.verifying_key)


def renew_subject(site: str) -> str:
    """Where a site asks."""
    return f"tw.report.{token(site)}.renew"


def renewed(site: str, payload: bytes, certify: Callable[[str, bytes, bytes], bytes]) -> tuple[str, bytes]:
    """The coordinator's side: where the answer to a request goes, and what it is."""
    try:
        if len(payload) > _LONGEST:
            raise ValueError
        asked = json.loads(payload)
        csr, shown = (str(asked[name]).encode() for name in ("csr", "certificate"))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("a request for a certificate cannot be read.", where=f"site {site}") from None
    order = {"kind": KIND, "key": "", "certificate": certify(site, csr, shown).decode()}
    return order_subject(site), json.dumps(order).encode()

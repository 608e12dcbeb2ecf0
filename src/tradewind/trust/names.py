"""The names by which certificates call the coordinator and the sites, and the hosts that may stand beside them."""

from __future__ import annotations

import hashlib
import ipaddress
import re

from tradewind.trust.errors import TrustError

COORDINATOR = "coordinator.tradewind"
DOMAIN = ".tradewind"
"""What ends in this is given by the authority alone; no host may be called so."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_PLAIN = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_HASHED = re.compile(r"(^|-)x[0-9a-f]{8}$")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def principal(site: str, edition: int = 1) -> str:
    """The DNS name of a site in its certificate. Such names know no case, so all but plain ones are told apart by a
    hash, and no two sites differ in case alone. A site that was shut out and let in again has another edition of it.

    >>> principal("eu-dc"), principal("EU-DC"), principal("eu-dc", 2)
    ('eu-dc.site.tradewind', 'eu-dc-x8235c650.site.tradewind', 'eu-dc.2.site.tradewind')
    """
    return f"{_token(site)}.site{DOMAIN}" if edition == 1 else f"{_token(site)}.{edition}.site{DOMAIN}"


def names_site(name: str, site: str) -> bool:
    """Whether a name is that of a site in a certificate, in any edition.

    >>> names_site("eu-dc.7.site.tradewind", "eu-dc"), names_site("eu-dc.site.tradewind", "eu")
    (True, False)
    """
    found = re.fullmatch(rf"{re.escape(_token(site))}(?:\.([1-9][0-9]{{0,8}}))?\.site{re.escape(DOMAIN)}", name)
    return found is not None


def host(name: str) -> str | Address:
    """A host as a certificate may name it: an address, or a plain name in lower case.

    >>> host("10.0.0.7"), host("Edge-1.example.org")
    (IPv4Address('10.0.0.7'), 'edge-1.example.org')
    """
    if "%" not in name:
        try:
            return ipaddress.ip_address(name)
        except ValueError:
            pass  # then it is a name
    lower = name.lower()
    labels = lower.split(".")
    # A last label of digits would be read as an address by some, as a name by others.
    if len(lower) > 253 or not all(map(_LABEL.fullmatch, labels)) or labels[-1].isdigit():
        raise TrustError(
            f"{name[:80]!r} is neither a host name nor an IP address.",
            where="hosts of a certificate",
            hint="give plain names such as edge-1.example.org, without port, wildcard or final dot.",
        )
    if f".{lower}".endswith(DOMAIN):
        raise TrustError(
            f"{name[:80]!r} ends in {DOMAIN!r}: such names are given by the authority alone.",
            where="hosts of a certificate",
            hint="give the name under which the network knows the host.",
        )
    return lower


def _token(site: str) -> str:
    try:
        encoded = site.encode()
    except UnicodeEncodeError:
        encoded = b""
    if not encoded:
        raise TrustError("a site needs a name, in plain text.", where="name of a site", hint="for example: eu-dc.")
    if _PLAIN.fullmatch(site) and not _HASHED.search(site):
        return site
    readable = re.sub(r"[^a-z0-9]+", "-", site.lower()).strip("-")[:24].strip("-")
    mark = f"x{hashlib.sha256(encoded).hexdigest()[:8]}"
    return f"{readable}-{mark}" if readable else mark

"""Who dials whom: each link between two sites is one connection, made by the end that can reach the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.fragments.deployed import Deployed


def dials(site: str, far: str, addresses: Mapping[str, str]) -> bool:
    """Whether a site dials the other: one that cannot be dialled itself has to; of two that can, the first by name.

    >>> dials("ams", "hq", {"hq": "10.0.0.1:7422"}), dials("hq", "ams", {"hq": "10.0.0.1:7422"})
    (True, False)
    >>> dials("ams", "hq", {"ams": "a:1", "hq": "h:1"}), dials("hq", "ams", {"ams": "a:1", "hq": "h:1"})
    (True, False)
    """
    if far not in addresses:
        return False
    return site not in addresses or site < far


def joined(deployed: Deployed) -> set[frozenset[str]]:
    """The pairs of sites between which something flows."""
    return {frozenset(hop) for channel in deployed.channels.values() for hop in channel.hops}


def neighbours(site: str, deployed: Deployed) -> list[str]:
    """The sites that a site exchanges rows with, by name."""
    return sorted(far for pair in joined(deployed) if site in pair for far in pair - {site})


def unreachable(deployed: Deployed, addresses: Mapping[str, str], known: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of known sites between which something is to flow though neither can be dialled."""
    there = set(known)
    found = [tuple(sorted(pair)) for pair in joined(deployed) if pair <= there and not pair & set(addresses)]
    return sorted((one, two) for one, two in found)

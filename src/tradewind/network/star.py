"""A star: one hub, and leaves that are each linked with the hub alone.

All links are alike, in both directions. The hub, a datacenter, has 16 cores, a leaf 1. Each site is its own region.
"""

from __future__ import annotations

from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire, both_ways


def star(leaves: int, *, mbps: float = 100.0, ms: float = 20.0, usd_per_gb: float = 0.02) -> Network:
    """A network of the site `hub` and of `leaf0`, `leaf1` and so on."""
    if leaves < 1:
        raise InputError(f"a star with {leaves} leaves is not possible.", hint="at least 1 leaf.")
    names = [f"leaf{number}" for number in range(leaves)]
    places = [Place("hub", 16.0, "hub"), *(Place(name, 1.0, name) for name in names)]
    return Network.of(places, both_ways(Wire(name, "hub", mbps, ms, usd_per_gb) for name in names))

"""The network that a deployment declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tradewind.frontends.deployment.model import Link, Site
from tradewind.network.network import Network, Place, Wire, both_ways


def declared(sites: Mapping[str, Site], links: Iterable[Link], *, usd_per_gb_default: float = 0.01) -> Network:
    """A network of a deployment's sites and links, in their order; links without a price cost the default."""
    places = [
        Place(name, float(site.cores), site.region, site.usd_per_core_hour, site.workers)
        for name, site in sites.items()
    ]
    wires: list[Wire] = []
    for link in links:
        price = usd_per_gb_default if link.usd_per_gb is None else link.usd_per_gb
        wire = Wire(*link.between, link.mbps, link.ms, price)
        wires.extend([wire] if link.one_way else both_ways([wire]))
    return Network.of(places, wires)

"""What an objective charges: for a byte on each link, for a busy core at each site, for an operator at each site."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tradewind.network.network import Indices, Network, Numbers

_HOUR = 3600.0
_GB = 1e9


@dataclass(frozen=True, eq=False)
class Prices:
    """Linear prices: a plan costs the sum of what its links, cores and operators cost."""

    per_byte: Numbers
    """For each link, what one byte per second on it costs."""
    per_core: Numbers
    """For each site, what one busy core costs."""
    per_operator: Numbers
    """For each site, what one operator costs, however little it does."""

    def part(self, sites: Indices, links: Indices) -> Prices:
        """The prices of some sites and links."""
        return Prices(self.per_byte[links], self.per_core[sites], self.per_operator[sites])

    @staticmethod
    def of_dollars(network: Network) -> Prices:
        """Dollars in an hour: what links and busy cores cost."""
        return Prices(network.usd_per_gb * _HOUR / _GB, network.usd_per_core_hour, np.zeros(len(network)))

    @staticmethod
    def of_bytes(network: Network) -> Prices:
        """Bytes in a second, once for each link that they cross."""
        return Prices(np.ones(len(network.start)), np.zeros(len(network)), np.zeros(len(network)))

    @staticmethod
    def of_links(network: Network, per_byte: Numbers, per_operator: Numbers | None = None) -> Prices:
        """Prices that are given: the model of Seshadri et al., with a cost for bytes and one for operators."""
        fixed = np.zeros(len(network)) if per_operator is None else per_operator
        return Prices(per_byte, np.zeros(len(network)), fixed)

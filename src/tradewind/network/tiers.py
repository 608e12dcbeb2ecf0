"""A hierarchy: edge sites below regional datacenters, and those below one root datacenter.

The fan-outs say how many sites hang on each site, tier by tier from the root down: (4, 25) is a root, 4 regional
datacenters and 25 edge sites below each; (4, 3, 25) has 3 smaller datacenters below each regional one, and the edge
sites below those. Each regional datacenter is with all that is below it a region; the root is a region of its own.

Links of the last tier are access lines, all others are backbone lines; with `mesh` the regional datacenters are linked
with each other by backbone lines too. By default an access line carries 100 Mbit/s in 10 ms for 0.02 USD a GB, and a
backbone line 10 Gbit/s in 40 ms for 0.05 USD a GB. The root has 64 cores, a datacenter 16, an edge site 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from tradewind.errors import InputError
from tradewind.network.network import Network, Place, Wire, both_ways


@dataclass(frozen=True, slots=True)
class Line:
    """The figures that links of one kind share."""

    mbps: float
    ms: float
    usd_per_gb: float

    def between(self, start: str, end: str) -> Wire:
        """A link of this kind."""
        return Wire(start, end, self.mbps, self.ms, self.usd_per_gb)


ACCESS = Line(100.0, 10.0, 0.02)
BACKBONE = Line(10_000.0, 40.0, 0.05)


def tiers(
    fan_outs: Sequence[int] = (4, 25), *, mesh: bool = False, access: Line = ACCESS, backbone: Line = BACKBONE
) -> Network:
    """A network of `root`, datacenters `dc0`, `dc0.1` and edge sites `edge0.0`, each named by the way down to it."""
    if len(fan_outs) < 2 or min(fan_outs) < 1:
        raise InputError(
            f"fan-outs of {tuple(fan_outs)} are not possible.",
            hint="at least two tiers below the root, such as (4, 25), each of at least 1; a single tier is a star.",
        )
    places = [Place("root", 64.0, "root")]
    wires: list[Wire] = []
    above = [("root", "")]
    for depth, fan_out in enumerate(fan_outs, start=1):
        last = depth == len(fan_outs)
        kind, cores, line = ("edge", 1.0, access) if last else ("dc", 16.0, backbone)
        below = []
        for parent, way in above:
            for number in range(fan_out):
                further = f"{way}.{number}" if way else str(number)
                name = f"{kind}{further}"
                places.append(Place(name, cores, f"region{further.split('.')[0]}"))
                wires.append(line.between(name, parent))
                below.append((name, further))
        if mesh and depth == 1:
            wires.extend(backbone.between(one, other) for (one, _), (other, _) in combinations(below, 2))
        above = below
    return Network.of(places, both_ways(wires))

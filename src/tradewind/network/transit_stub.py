"""Transit-stub networks after GT-ITM: domains of transit sites carry the traffic of the stub domains behind them.

Shape. The transit domains are woven together, each of them is woven inside, every transit site has the same number of
stub domains behind it, each reached over one access link, and each stub domain is woven inside. *Woven* is a random
tree, so all is connected, and for each site with probability `density` one more link to another one of its group. A few
further links join stub sites with transit sites anywhere, and stub sites of different stub domains.

The number of sites is met exactly: what is not a transit site is spread over the stub domains, whose sizes differ by at
most one. By default 64 sites are 1 domain of 4 transit sites with 3 stub domains of 5 sites each, and 128 are 2 such
domains. As a network of n sites grows, the number of domains grows with the square root of n, the transit sites of a
domain with its fourth root, and the stub domains of a transit site, like the sites of a stub domain, with its eighth.

Figures of a link, the same in both directions; latency and price are drawn evenly from the ranges:

| link                                 | Mbit/s | ms    | USD per GB     |
|--------------------------------------|--------|-------|----------------|
| inside a stub domain                 | 100    | 1–5   | 0.005 to 0.015 |
| stub to transit, stub to other stub  | 622    | 5–15  | 0.01 to 0.03   |
| inside a transit domain              | 622    | 10–30 | 0.02 to 0.06   |
| between transit domains              | 622    | 30–80 | 0.04 to 0.12   |

A transit site has 8 cores, a stub site 2. The region of a site is the transit domain that it belongs to or hangs on.

Reference: E. W. Zegura, K. L. Calvert, S. Bhattacharjee, "How to Model an Internetwork", IEEE INFOCOM 1996.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from tradewind.errors import InputError
from tradewind.network.network import Indices, Network, Place

_INSIDE_STUB, _ACCESS, _INSIDE_TRANSIT, _BETWEEN_DOMAINS = range(4)
_MBPS = np.array([100.0, 622.0, 622.0, 622.0])
_MS = np.array([[1.0, 5.0], [5.0, 15.0], [10.0, 30.0], [30.0, 80.0]])
_USD_PER_GB = np.array([[0.005, 0.015], [0.01, 0.03], [0.02, 0.06], [0.04, 0.12]])

Pairs = tuple[Indices, Indices]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How many domains, transit sites in each, stub domains behind each of those, and sites in all."""

    domains: int
    transit: int
    stubs: int
    nodes: int

    @property
    def transit_sites(self) -> int:
        return self.domains * self.transit

    @property
    def stub_domains(self) -> int:
        return self.transit_sites * self.stubs

    def stub_sizes(self, rng: np.random.Generator) -> Indices:
        """Equal sizes; the sites that are left over go to stub domains drawn at random."""
        if self.stub_domains == 0:
            return np.zeros(0, dtype=np.int64)
        size, left = divmod(self.nodes - self.transit_sites, self.stub_domains)
        sizes = np.full(self.stub_domains, size, dtype=np.int64)
        sizes[rng.choice(self.stub_domains, left, replace=False)] += 1
        return sizes


def transit_stub(
    nodes: int,
    seed: int,
    *,
    domains: int | None = None,
    transit_per_domain: int | None = None,
    stubs_per_transit: int | None = None,
    density: float = 0.5,
    extra_transit_stub: int | None = None,
    extra_stub_stub: int | None = None,
) -> Network:
    """A connected network of exactly so many sites; the module says how it is made.

    The two kinds of extra links are by default one for every 64 sites each; one that is drawn twice is made once.
    """
    shape = _shape(nodes, domains, transit_per_domain, stubs_per_transit)
    if not 0 <= density <= 1:
        raise InputError(f"a density of {density:g} is not possible.", hint="it is a probability, from 0 to 1.")
    extras = [nodes // 64 if one is None else one for one in (extra_transit_stub, extra_stub_stub)]
    if min(extras) < 0:
        raise InputError(f"{min(extras)} extra links are not possible.", hint="at least 0.")
    rng = np.random.default_rng(seed)
    sizes = shape.stub_sizes(rng)
    # Transit sites come first, domain by domain, then the stub sites, stub domain by stub domain.
    stub_of = np.repeat(np.arange(shape.stub_domains), sizes)
    groups = [
        _between_domains(shape, rng, density),
        _woven(np.full(shape.domains, shape.transit), rng, density),
        _moved(_woven(sizes, rng, density), shape.transit_sites),
        _access(shape, sizes, rng),
        _extra_transit_stub(shape, extras[0], rng),
        _extra_stub_stub(shape, sizes, extras[1], rng),
    ]
    ends = np.concatenate([np.stack(group) for group in groups], axis=1)
    start, end = _once(ends.min(axis=0), ends.max(axis=0), nodes)
    kind = _kinds(shape, stub_of, start, end)
    ms = np.round(rng.uniform(_MS[kind, 0], _MS[kind, 1]), 2)
    usd_per_gb = np.round(rng.uniform(_USD_PER_GB[kind, 0], _USD_PER_GB[kind, 1]), 4)
    return Network(
        _places(shape, sizes),
        np.concatenate([start, end]),
        np.concatenate([end, start]),
        np.tile(_MBPS[kind], 2),
        np.tile(ms, 2),
        np.tile(usd_per_gb, 2),
    )


def _shape(nodes: int, domains: int | None, transit: int | None, stubs: int | None) -> _Shape:
    if nodes < 1:
        raise InputError(f"a network of {nodes} sites is not possible.", hint="at least 1 site.")
    growth = nodes / 64
    # Roots are a trace wrong, which must not turn a whole number into its neighbour.
    trace = 1e-9
    if domains is None:
        domains = ceil(growth ** (1 / 2) - trace)
    if transit is None:
        transit = max(1, int(4 * growth ** (1 / 4) + trace))
    if min(domains, transit) < 1 or (stubs is not None and stubs < 0):
        raise InputError("a transit-stub network needs at least one transit domain with one site in it.")
    if stubs is None:
        stubs = max(1, min(int(3 * growth ** (1 / 8) + trace), nodes // (domains * transit) - 1)) if nodes > 1 else 0
    found = _Shape(domains, transit, stubs, nodes)
    least = found.transit_sites + found.stub_domains
    if nodes < least or (stubs == 0 and nodes > least):
        raise InputError(
            f"{nodes} sites do not fit: {domains} domains of {transit} transit sites with {stubs} stub domains each "
            f"are {least} sites{' or more' if stubs else ''}.",
            hint="change the number of sites, or leave a part of the shape to the defaults.",
        )
    return found


def _woven(sizes: Indices, rng: np.random.Generator, density: float) -> Pairs:
    """Links inside groups of the given sizes, whose members are numbered one group after the other."""
    total = int(sizes.sum())
    size = np.repeat(sizes, sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = np.arange(total)
    # A member's link to a random earlier one of its group makes a tree.
    earlier = first + (rng.random(total) * (members - first)).astype(np.int64)
    other = first + (rng.random(total) * size).astype(np.int64)
    branch = members > first
    more = (rng.random(total) < density) & (other != members)
    return np.concatenate([members[branch], members[more]]), np.concatenate([earlier[branch], other[more]])


def _moved(pairs: Pairs, by: int) -> Pairs:
    return pairs[0] + by, pairs[1] + by


def _between_domains(shape: _Shape, rng: np.random.Generator, density: float) -> Pairs:
    """Transit domains woven together; each link ends at random sites of its two domains."""
    here, there = _woven(np.array([shape.domains]), rng, density)
    ends = [domain * shape.transit + rng.integers(shape.transit, size=len(domain)) for domain in (here, there)]
    return ends[0], ends[1]


def _access(shape: _Shape, sizes: Indices, rng: np.random.Generator) -> Pairs:
    """From a random site of each stub domain to the transit site before it."""
    if shape.stub_domains == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    stubs = np.arange(shape.stub_domains)
    return _drawn(shape, sizes, stubs, rng), stubs // shape.stubs


def _drawn(shape: _Shape, sizes: Indices, stubs: Indices, rng: np.random.Generator) -> Indices:
    """A random site of each of the given stub domains."""
    first = shape.transit_sites + np.cumsum(sizes) - sizes
    return np.asarray(first[stubs] + (rng.random(len(stubs)) * sizes[stubs]).astype(np.int64), dtype=np.int64)


def _extra_transit_stub(shape: _Shape, count: int, rng: np.random.Generator) -> Pairs:
    if shape.stub_domains == 0:
        count = 0
    stub_sites = rng.integers(shape.transit_sites, max(shape.nodes, shape.transit_sites + 1), size=count)
    return stub_sites, rng.integers(shape.transit_sites, size=count)


def _extra_stub_stub(shape: _Shape, sizes: Indices, count: int, rng: np.random.Generator) -> Pairs:
    """Between sites of two different stub domains."""
    if shape.stub_domains < 2:
        count = 0
    here = rng.integers(max(1, shape.stub_domains), size=count)
    there = (here + rng.integers(1, max(2, shape.stub_domains), size=count)) % max(1, shape.stub_domains)
    return _drawn(shape, sizes, here, rng), _drawn(shape, sizes, there, rng)


def _once(low: Indices, high: Indices, nodes: int) -> Pairs:
    """Links between the same two sites become one."""
    keys = np.sort(low * nodes + high)
    fresh = np.ones(len(keys), dtype=bool)
    fresh[1:] = keys[1:] != keys[:-1]
    return keys[fresh] // nodes, keys[fresh] % nodes


def _kinds(shape: _Shape, stub_of: Indices, low: Indices, high: Indices) -> Indices:
    """The row of the table that each link belongs to; of its ends, the lower number is given first."""
    kind = np.full(len(low), _ACCESS)
    carries = high < shape.transit_sites
    kind[carries] = np.where(
        low[carries] // shape.transit == high[carries] // shape.transit, _INSIDE_TRANSIT, _BETWEEN_DOMAINS
    )
    both = np.flatnonzero(low >= shape.transit_sites)
    same = stub_of[low[both] - shape.transit_sites] == stub_of[high[both] - shape.transit_sites]
    kind[both[same]] = _INSIDE_STUB
    return kind


def _places(shape: _Shape, sizes: Indices) -> tuple[Place, ...]:
    regions = [f"domain{domain}" for domain in range(shape.domains)]
    transit = [Place(f"t{d}.{i}", 8.0, regions[d]) for d in range(shape.domains) for i in range(shape.transit)]
    behind = max(1, shape.stubs * shape.transit)
    stub = [
        Place(f"s{number}.{i}", 2.0, regions[number // behind])
        for number, size in enumerate(sizes.tolist())
        for i in range(size)
    ]
    return (*transit, *stub)

"""Real topologies: published maps of existing networks, from the data of the `topohub` package.

A name is a collection and a topology in it: `sndlib/germany50`, `topozoo/Abilene`, `backbone/europe`, `caida/…`; and
`gabriel/25/0` and its like are made-up graphs that resemble long-haul networks. Sites are called by their published
names, with their number where several share one, and by number alone where they have none.

The maps tell who is linked with whom over how many kilometres, but neither bandwidths nor prices. So, for each link,
and the same in both directions:

- Mbit/s: 1, 10, 40 or 100 Gbit/s, each as likely, drawn with the seed;
- ms: 0.1, and 1 for every 200 km, as fast as light in glass;
- USD per GB: 0.01, and 0.01 for every 1000 km.

Every site has 4 cores and no region. A map in several parts stays in several parts.

Reference: P. Jurkiewicz, "TopoHub: A repository of reference Gabriel graph and real-world topologies for networking
research", SoftwareX 24, 2023.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from tradewind.errors import unknown
from tradewind.network.network import Network, Place, Wire, both_ways

_MBPS = np.array([1_000.0, 10_000.0, 40_000.0, 100_000.0])
_KM_PER_MS = 200.0


def real(name: str, seed: int = 0) -> Network:
    """The topology of that name; the module says where its figures come from."""
    found = _read(name)
    names = _names(found["nodes"])
    edges = [edge for edge in found["edges"] if edge["source"] != edge["target"]]
    mbps = np.random.default_rng(seed).choice(_MBPS, len(edges))
    wires = [
        Wire(names[edge["source"]], names[edge["target"]], float(rate), *_figures(float(edge["dist"])))
        for edge, rate in zip(edges, mbps, strict=True)
    ]
    return Network.of([Place(one, 4.0) for one in names.values()], both_ways(wires))


def real_names() -> tuple[str, ...]:
    """The names of all topologies; the first of each collection come first."""
    by_collection = [sorted(_within(group, group.name)) for group in _data().iterdir() if group.is_dir()]
    placed = ((place, name) for names in by_collection for place, name in enumerate(names))
    return tuple(name for _, name in sorted(placed))


def _data() -> Traversable:
    return files("topohub").joinpath("data")


def _within(folder: Traversable, path: str) -> Iterator[str]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _within(one, f"{path}/{one.name}")
        elif one.name.endswith(".json"):
            yield f"{path}/{one.name.removesuffix('.json')}"


def _read(name: str) -> Any:
    """The nodes and edges of a topology. The package's own reader leaves its file open, and follows any path."""
    known = real_names()
    if name not in known:
        raise unknown("topology", name, known)
    return json.loads(_data().joinpath(f"{name}.json").read_text(encoding="utf-8"))


def _names(nodes: list[dict[str, Any]]) -> dict[Any, str]:
    """The name of each node by its number."""
    often = Counter(node.get("name") for node in nodes)
    found = {}
    for node in nodes:
        name, number = node.get("name"), node["id"]
        found[number] = f"node {number}" if not name else name if often[name] == 1 else f"{name} {number}"
    return found


def _figures(km: float) -> tuple[float, float]:
    """Milliseconds and USD per GB."""
    return round(0.1 + km / _KM_PER_MS, 3), round(0.01 + km * 1e-5, 5)

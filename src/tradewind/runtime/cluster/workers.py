"""Workers: further agents of a site, each a place of its own that no file declares.

A worker has its own Spark and backbone server. It is joined to its site's first agent by a link that costs nothing, it
lies in its site's region, no streams arise there and nothing is delivered there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.model import Link

_WORKER = re.compile(r"(?P<home>[^~]+)~[1-9][0-9]{0,2}")
_FAST, _CHEAP = 1e6, 1e-9
"""Mbit/s and dollars for a gigabyte between the agents of a site: nothing is slowed down, and nothing goes that way
because of its price.
"""


def worker(site: str, number: int) -> str:
    """What a further agent of a site is called; they are counted from 2.

    >>> worker("hq", 2)
    'hq~2'
    """
    return f"{site}~{number}"


def home_of(place: str) -> str:
    """The site that a place belongs to.

    >>> home_of("hq~2"), home_of("hq")
    ('hq', 'hq')
    """
    found = _WORKER.fullmatch(place)
    return place if found is None else found["home"]


def workers_of(site: str, places: Iterable[str]) -> list[str]:
    """The workers of a site among some places, in order.

    >>> workers_of("hq", ["hq", "hq~10", "hq~2", "depot~2"])
    ['hq~2', 'hq~10']
    """
    found = [place for place in places if place != site and home_of(place) == site]
    return sorted(found, key=lambda place: int(place.rpartition("~")[2]))


def with_workers(found: Deployment, places: Iterable[str]) -> Deployment:
    """What is declared, and those of some places that are workers of declared sites."""
    sites, links = dict(found.sites), list(found.links)
    for place in dict.fromkeys(places):
        home = home_of(place)
        if place in sites or home not in sites:
            continue
        # A site that names no region is one by itself, and its workers belong to it.
        region = sites[home].region or f"~{home}"
        sites[home] = sites[home].model_copy(update={"region": region})
        sites[place] = sites[home].model_copy(update={"workers": 1, "spark": None, "tables": None})
        links.append(Link.model_construct(between=(home, place), mbps=_FAST, ms=0.0, usd_per_gb=_CHEAP, one_way=False))
    return replace(found, sites=sites, links=tuple(links))

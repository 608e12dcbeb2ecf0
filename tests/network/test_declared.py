"""The network of a deployment: its sites and links, in both directions unless said."""

import pytest

from tradewind.errors import UnknownNameError
from tradewind.frontends.deployment.model import Link, Site
from tradewind.network.declared import declared
from tradewind.network.network import Place

SITES = {"ams": Site(cores=2, region="eu", usd_per_core_hour=0.05, workers=2), "hq": Site(cores=8)}


def test_sites_are_places() -> None:
    assert declared(SITES, ()).places == (Place("ams", 2.0, "eu", 0.05, 2), Place("hq", 8.0))


def test_links_go_both_ways_unless_said() -> None:
    both = declared(SITES, (Link(between=("ams", "hq"), mbps=50, ms=9, usd_per_gb=0.02),))
    assert (both.start.tolist(), both.end.tolist()) == ([0, 1], [1, 0])
    assert (both.mbps.tolist(), both.ms.tolist(), both.usd_per_gb.tolist()) == ([50, 50], [9, 9], [0.02, 0.02])
    single = declared(SITES, (Link(between=("hq", "ams"), mbps=50, one_way=True),))
    assert (single.start.tolist(), single.end.tolist()) == ([1], [0])


def test_a_link_without_a_price_costs_the_default() -> None:
    links = (Link(between=("ams", "hq"), mbps=1), Link(between=("ams", "hq"), mbps=1, usd_per_gb=0.5))
    assert declared(SITES, links).usd_per_gb.tolist() == [0.01, 0.01, 0.5, 0.5]
    assert declared(SITES, links, usd_per_gb_default=0.3).usd_per_gb.tolist() == [0.3, 0.3, 0.5, 0.5]


def test_a_link_to_an_unknown_site_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown site 'sfo'"):
        declared(SITES, (Link(between=("ams", "sfo"), mbps=1),))

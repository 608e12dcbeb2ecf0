"""A network is made from sites and links, and refuses what cannot be one."""

import numpy as np
import pytest

from tradewind.errors import InputError, UnknownNameError
from tradewind.network.network import Network, Place, Wire, both_ways

PLACES = [Place("ams", 2.0, "eu", 0.05, 2), Place("hq", 8.0, "us")]


def test_sites_have_names_and_numbers() -> None:
    network = Network.of(PLACES, [Wire("ams", "hq", 8.0, 9.0, 0.02)])
    assert len(network) == 2
    assert (network.number("hq"), network.name(1)) == (1, "hq")
    assert network.cores.tolist() == [2.0, 8.0]
    assert network.usd_per_core_hour.tolist() == [0.05, 0.0]
    assert network.bytes_per_second.tolist() == [1e6]
    assert network.in_region("eu") == {0}
    assert network.in_region("asia") == frozenset()


def test_a_link_both_ways_is_two() -> None:
    network = Network.of(PLACES, both_ways([Wire("ams", "hq", 8.0, 9.0, 0.02)]))
    assert (network.start.tolist(), network.end.tolist()) == ([0, 1], [1, 0])
    assert network.ms.tolist() == [9.0, 9.0]


def test_a_site_without_links_is_a_network() -> None:
    assert len(Network.of([Place("alone")], [])) == 1


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
@pytest.mark.parametrize(("field", "word"), [("mbps", "bandwidth"), ("usd_per_gb", "price")])
def test_bad_figures_are_refused_by_name(field: str, word: str, value: float) -> None:
    figures = {"mbps": 1.0, "usd_per_gb": 1.0, field: value}
    fine = Wire("ams", "hq", 1.0)
    with pytest.raises(InputError, match=rf"from 'hq' to 'ams' has a {word} of") as caught:
        Network.of(PLACES, [fine, Wire("hq", "ams", **figures)])
    assert field in str(caught.value.hint)


@pytest.mark.parametrize("wire", [Wire("amsterdam", "hq", 1.0), Wire("hq", "amsterdam", 1.0)])
def test_a_link_to_an_unknown_site_is_refused(wire: Wire) -> None:
    with pytest.raises(UnknownNameError, match="unknown site 'amsterdam'"):
        Network.of(PLACES, [wire])


def test_the_number_of_an_unknown_site_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ams'"):
        Network.of(PLACES, []).number("amss")


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(InputError, match="same name"):
        Network.of([Place("a"), Place("a")], [])

"""Made networks: connected, of the asked size, by their stated rules, and the same again from the same seed."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from tradewind.errors import InputError, UnknownNameError
from tradewind.network.network import Network
from tradewind.network.real import real, real_names
from tradewind.network.star import star
from tradewind.network.tiers import Line, tiers
from tradewind.network.transit_stub import transit_stub

MADE = {
    "transit_stub": lambda: transit_stub(200, 1),
    "star": lambda: star(5),
    "tiers": lambda: tiers((3, 2, 4), mesh=True),
    "real": lambda: real("sndlib/germany50", 1),
}


def parts(network: Network) -> int:
    ends = (network.start, network.end)
    graph = csr_matrix((np.ones(len(network.start)), ends), shape=(len(network), len(network)))
    return int(connected_components(graph, connection="strong")[0])


def figures(network: Network) -> list[list[float]]:
    columns = (network.start, network.end, network.mbps, network.ms, network.usd_per_gb)
    return [column.tolist() for column in columns]


def domains(network: Network) -> list[str]:
    """The domain of each site of a transit-stub network: what stands before the point in its name."""
    return [place.name.split(".")[0] for place in network.places]


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_links_go_both_ways_and_none_is_there_twice(make) -> None:
    network = make()
    assert parts(network) == 1
    links = list(zip(*(column for column in figures(network)), strict=True))
    assert len({link[:2] for link in links}) == len(links)
    assert {(end, start, *rest) for start, end, *rest in links} == set(links)
    assert not np.any(network.start == network.end)


@pytest.mark.parametrize("nodes", [*range(1, 40), 63, 64, 100, 128, 1_000, 1_024, 10_000])
def test_transit_stub_is_connected_and_has_exactly_the_asked_sites(nodes: int) -> None:
    for seed in range(3 if nodes < 1_000 else 1):
        network = transit_stub(nodes, seed)
        assert len(network) == nodes
        assert parts(network) == 1


@pytest.mark.parametrize(("nodes", "transit", "stubs"), [(64, 1, 12), (128, 2, 24), (1_024, 4, 128), (10_000, 13, 910)])
def test_transit_stub_has_the_stated_shape(nodes: int, transit: int, stubs: int) -> None:
    sizes = Counter(domains(transit_stub(nodes, 0)))
    assert len([name for name in sizes if name.startswith("t")]) == transit
    found = [size for name, size in sizes.items() if name.startswith("s")]
    assert len(found) == stubs
    assert max(found) - min(found) <= 1


def test_transit_stub_links_keep_the_rules_of_their_kind() -> None:
    network = transit_stub(1_024, 5)
    names = domains(network)
    rows = {
        "stub": (100, 1, 5, 0.01),
        "access": (622, 5, 15, 0.02),
        "transit": (622, 10, 30, 0.04),
        "far": (622, 30, 80, 0.08),
    }
    seen = set()
    for start, end, mbps, ms, usd in zip(*figures(network), strict=True):
        ends = {names[int(start)], names[int(end)]}
        if any(name.startswith("s") for name in ends):
            kind = "stub" if len(ends) == 1 else "access"
        else:
            kind = "transit" if len(ends) == 1 else "far"
        bandwidth, fastest, slowest, price = rows[kind]
        seen.add(kind)
        assert mbps == bandwidth
        assert fastest <= ms <= slowest
        assert price / 2 <= usd <= price * 1.5
    assert seen == set(rows)


def test_transit_stub_regions_are_transit_domains() -> None:
    network = transit_stub(128, 0)
    assert {len(network.in_region(f"domain{number}")) for number in range(2)} == {64}
    # The only links between regions are those between transit domains and the extra ones.
    plain = transit_stub(128, 0, extra_transit_stub=0, extra_stub_stub=0)
    regions = [place.region for place in plain.places]
    crossing = [
        (plain.name(start), plain.name(end))
        for start, end in zip(plain.start, plain.end, strict=True)
        if regions[start] != regions[end]
    ]
    assert crossing
    assert all(name.startswith("t") for pair in crossing for name in pair)


def test_transit_stub_without_more_links_is_a_tree() -> None:
    network = transit_stub(300, 2, density=0.0, extra_transit_stub=0, extra_stub_stub=0)
    assert len(network.start) == 2 * 299
    assert len(transit_stub(300, 2, density=0.0, extra_stub_stub=0, extra_transit_stub=20).start) > 2 * 299
    assert len(transit_stub(300, 2, density=0.0, extra_stub_stub=20, extra_transit_stub=0).start) > 2 * 299


def test_transit_stub_of_a_given_shape() -> None:
    network = transit_stub(2 * 3 * (1 + 2 * 4), 0, domains=2, transit_per_domain=3, stubs_per_transit=2)
    sizes = Counter(domains(network))
    assert sorted(size for name, size in sizes.items() if name.startswith("t")) == [3, 3]
    assert [size for name, size in sizes.items() if name.startswith("s")] == [4] * 12
    assert len(transit_stub(6, 0, domains=2, transit_per_domain=3, stubs_per_transit=0)) == 6


@pytest.mark.parametrize(
    ("nodes", "options"),
    [
        (0, {}),
        (10, {"domains": 2, "transit_per_domain": 3, "stubs_per_transit": 1}),
        (10, {"domains": 20}),
        (10, {"domains": 0}),
        (10, {"stubs_per_transit": 0}),
        (10, {"stubs_per_transit": -1}),
        (10, {"density": 1.5}),
        (10, {"extra_stub_stub": -1}),
    ],
)
def test_transit_stub_refuses_what_does_not_fit(nodes: int, options: dict) -> None:
    with pytest.raises(InputError):
        transit_stub(nodes, 0, **options)


@pytest.mark.parametrize("make", [lambda seed: transit_stub(300, seed), lambda seed: real("topozoo/Abilene", seed)])
def test_a_seed_makes_the_same_network_again_and_another_seed_another(make) -> None:
    assert figures(make(7)) == figures(make(7))
    assert make(7).places == make(7).places
    assert figures(make(7)) != figures(make(8))


def test_star_links_every_leaf_with_the_hub_alone() -> None:
    network = star(3, mbps=50.0, ms=5.0, usd_per_gb=0.1)
    assert [place.name for place in network.places] == ["hub", "leaf0", "leaf1", "leaf2"]
    assert all(0 in pair for pair in zip(network.start, network.end, strict=True))
    assert len(network.start) == 6
    assert set(network.mbps) == {50.0}
    with pytest.raises(InputError, match="0 leaves"):
        star(0)


def test_tiers_count_and_name_what_hangs_below() -> None:
    network = tiers((2, 3))
    assert [place.name for place in network.places] == [
        "root", "dc0", "dc1", "edge0.0", "edge0.1", "edge0.2", "edge1.0", "edge1.1", "edge1.2",
    ]  # fmt: skip
    assert len(network.start) == 2 * (2 + 6)
    assert {network.name(site) for site in network.in_region("region1")} == {"dc1", "edge1.0", "edge1.1", "edge1.2"}
    assert network.in_region("root") == {0}
    deep = tiers((2, 3, 4))
    assert len(deep) == 1 + 2 + 6 + 24
    assert len(deep.in_region("region0")) == 1 + 3 + 12


def test_tiers_have_two_kinds_of_lines() -> None:
    network = tiers((2, 3), access=Line(1.0, 2.0, 3.0), backbone=Line(4.0, 5.0, 6.0))
    for start, end, *line in zip(*figures(network), strict=True):
        last = any(network.name(int(site)).startswith("edge") for site in (start, end))
        assert line == ([1.0, 2.0, 3.0] if last else [4.0, 5.0, 6.0])


def test_a_mesh_links_regional_datacenters_with_each_other() -> None:
    plain, meshed = tiers((4, 2)), tiers((4, 2), mesh=True)
    assert len(meshed.start) - len(plain.start) == 2 * 6
    pairs = {(meshed.name(a), meshed.name(b)) for a, b in zip(meshed.start, meshed.end, strict=True)}
    assert {("dc0", "dc3"), ("dc3", "dc0"), ("dc1", "dc2")} <= pairs


@pytest.mark.parametrize("fan_outs", [(), (3,), (3, 0)])
def test_tiers_refuse_less_than_two(fan_outs: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="fan-outs"):
        tiers(fan_outs)


def test_a_real_topology_has_its_sites_links_and_rules() -> None:
    network = real("sndlib/germany50")
    assert (len(network), len(network.start)) == (50, 2 * 88)
    assert set(network.mbps) == {1e3, 1e4, 4e4, 1e5}
    # Aachen and Köln are 61.63 km apart.
    link = next(i for i, a in enumerate(network.start) if network.name(a) == "Aachen" and network.end[i] == 29)
    assert network.ms[link] == pytest.approx(0.1 + 61.63 / 200, abs=1e-3)
    assert network.usd_per_gb[link] == pytest.approx(0.01 + 0.01 * 0.06163, abs=1e-5)


@pytest.mark.parametrize("name", ["backbone/africa", "topozoo/Aarnet", "gabriel/25/0", "caida/2024-08/1103"])
def test_maps_with_nameless_or_nearby_sites_can_be_used(name: str) -> None:
    assert parts(real(name)) == 1


@pytest.mark.parametrize("name", ["sndlib/germny50", "sndlib", "", "../data/sndlib/germany50", "nowhere/at/all"])
def test_an_unknown_topology_is_refused_with_examples(name: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown topology") as caught:
        real(name)
    assert "topozoo/Abilene" in str(caught.value)
    assert caught.value.candidates == real_names()

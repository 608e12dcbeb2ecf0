import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tradewind.trust.errors import TrustError
from tradewind.trust.names import COORDINATOR, host, principal

names = st.text(min_size=1).filter(lambda one: one.isprintable())


@given(names)
@example("-")
@example("日本")
@example("x" * 300)
def test_a_principal_is_a_dns_name_in_lower_case(site):
    name = principal(site)
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.site\.tradewind", name)
    assert len(name) <= 64, "a common name may have 64 signs"
    assert name != COORDINATOR


@given(names, names)
@example("ams", "AMS")
@example("Ams", "aMS")
@example("日本", "x2ad2ddf5")
@example("EU-DC", "eu-dc-x8235c650")
def test_two_sites_never_have_one_name(one, other):
    assume(one != other)
    assert principal(one) != principal(other)


@given(st.text(alphabet="aAbB-", min_size=1, max_size=6))
def test_names_that_differ_in_case_alone_stay_apart(site):
    others = {site, site.lower(), site.upper(), site.swapcase()}
    assert len({principal(one) for one in others}) == len(others)


def test_a_plain_name_stays_as_it_is():
    assert principal("eu-dc-7") == "eu-dc-7.site.tradewind"


@pytest.mark.parametrize("site", ["", "\ud800"])
def test_a_site_needs_a_name(site):
    with pytest.raises(TrustError, match="needs a name"):
        principal(site)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "*",
        "*.example.org",
        "a b",
        "a_b",
        "example.org.",
        "-a.org",
        "a-.org",
        "a..b",
        "host:4222",
        "127.1",
        "1",
        "10.0.0.256",
        "fe80::1%eth0",
        "user@example.org",
        "ex\x00ample.org",
        "example.org\n",
        "zürich.example.org",
        "a" * 64,
        ".".join(["a" * 50] * 6),
        "tradewind",
        "ams.tradewind",
        "ams.site.tradewind",
        "AMS.SITE.TradeWind",
        COORDINATOR,
    ],
)
def test_what_is_no_plain_host_is_refused(name):
    with pytest.raises(TrustError):
        host(name)


@pytest.mark.parametrize("name", ["localhost", "edge-1", "a.b.example.org", "nottradewind", "tradewind.org"])
def test_plain_names_are_kept(name):
    assert host(name.upper()) == name


@pytest.mark.parametrize("name", ["127.0.0.1", "10.1.2.3", "::1", "2001:db8::7"])
def test_addresses_are_addresses(name):
    assert str(host(name)) == name

"""What is wanted as a signed document: what was written is read, and nothing else is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sites.shops import FILE
from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.changes import Changes, begins_anew, without
from tradewind.runtime.cluster.desired import Desired, Wanted, opened, sealed, sites_of
from tradewind.runtime.cluster.planning import wanted_also, wanted_of
from tradewind.trust.authority import Authority

MORE = """
queries:
  busiest:
    sql: SELECT window.start AS begin, count(*) AS n FROM sales WHERE amount > 0 GROUP BY window(ts, '20 seconds')
    deliver: {site: hq, format: parquet, path: out/busiest}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority.open(tmp_path_factory.mktemp("trust"))


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> Wanted:
    folder = tmp_path_factory.mktemp("shops")
    return wanted_of(load(FILE, str(folder / "shops.yaml")), FILE, None, folder / "figures")


def desired(wanted: Wanted) -> Desired:
    return Desired(7, wanted, {"hq": "127.0.0.1:7"}, {"hq": "hq.site.tradewind"})


def test_what_was_sealed_is_opened(authority, wanted):
    record = json.loads(json.dumps(sealed(desired(wanted), authority.sign)))
    found = opened(record, authority.verifying_key)
    assert found.to_json() == desired(wanted).to_json()
    assert found.wanted is not None
    assert [one.name for one in found.wanted.deployed.fragments] == [one.name for one in wanted.deployed.fragments]
    assert found.wanted.declared(Path("x")).queries.keys() == {"best", "dear"}


def test_what_somebody_else_signed_is_not(authority, wanted, tmp_path):
    stranger = Authority.open(tmp_path)
    with pytest.raises(InputError):
        opened(sealed(desired(wanted), stranger.sign), authority.verifying_key)


@given(st.data())
def test_what_was_changed_on_the_way_is_not(authority, wanted, data):
    record = sealed(desired(wanted), authority.sign)
    document = record["document"]
    place = data.draw(st.integers(0, len(document) - 1))
    sign = data.draw(st.characters(codec="ascii").filter(lambda one: one != document[place]))
    with pytest.raises(InputError):
        opened({**record, "document": document[:place] + sign + document[place + 1 :]}, authority.verifying_key)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_anything_else_is_refused(authority, record):
    with pytest.raises(InputError):
        opened(record, authority.verifying_key)


@given(st.sampled_from(["format", "epoch", "wanted", "addresses", "principals"]), st.none() | st.text() | st.booleans())
def test_a_wrong_form_is_refused_though_it_is_signed(authority, wanted, key, value):
    document = json.dumps({**desired(wanted).to_json(), key: value} if (key, value) != ("wanted", None) else [])
    with pytest.raises(InputError):
        opened({"document": document, "signature": authority.sign(document.encode())}, authority.verifying_key)


@pytest.mark.parametrize("called", ["../up.yaml", "/etc/passwd", ".hidden", "", "a\0b"])
def test_a_file_is_called_by_a_plain_name(wanted, called):
    with pytest.raises(ValueError, match="no name of a file"):
        Wanted.from_json({**wanted.to_json(), "called": called})


def test_the_same_again_changes_nothing(wanted):
    changes = Changes(wanted, wanted, begins_anew(wanted, wanted, {}))
    assert changes.nothing
    told = changes.to_json()
    assert not told["starts"]
    assert not told["stops"]
    assert {one["fragment"] for one in told["keeps"]} == {one.name for one in wanted.deployed.fragments}
    assert told["sites"] == list(sites_of(wanted.deployed))


def test_queries_that_come_later_leave_what_runs_as_it_is(wanted, tmp_path):
    whole = list(wanted.deployed.channels)
    after, names = wanted_also(wanted, MORE, whole, tmp_path, tmp_path / "figures")
    assert names == ["busiest"]
    told = Changes(wanted, after, begins_anew(wanted, after, dict.fromkeys(whole, True))).to_json()
    assert not told["stops"]
    assert not told["anew"]
    assert told["queries"] == {"added": ["busiest"], "removed": [], "kept": ["best", "dear"]}
    runs = {one.name for one in wanted.deployed.fragments}
    assert any(name in whole for one in after.deployed.fragments if one.name not in runs for name in one.inputs)
    # Where a channel has forgotten something, what is new is made from the streams, or everything begins anew.
    forgetful, _ = wanted_also(wanted, MORE, [], tmp_path, tmp_path / "figures")
    assert not begins_anew(wanted, forgetful, {})
    assert begins_anew(wanted, after, dict.fromkeys(whole, False))


def test_a_query_that_is_not_wanted_takes_what_only_it_needs_with_it(wanted, tmp_path):
    after, _ = wanted_also(wanted, MORE, list(wanted.deployed.channels), tmp_path, tmp_path / "figures")
    left = without(after.deployed, ["busiest"])
    assert {one.name for one in left.fragments} == {one.name for one in wanted.deployed.fragments}
    assert left.channels == {
        name: one for name, one in after.deployed.channels.items() if name in wanted.deployed.channels
    }
    assert without(after.deployed, ["best", "dear", "busiest"]).fragments == ()

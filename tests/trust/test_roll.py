import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tradewind.trust.errors import TrustError
from tradewind.trust.names import principal
from tradewind.trust.roll import Roll


def test_a_site_that_was_shut_out_comes_back_under_another_name(tmp_path):
    roll = Roll(tmp_path / "trust")
    assert roll.members() == {}
    roll.admit("ams")
    roll.admit("Zürich 1")
    assert roll.members() == {"Zürich 1": principal("Zürich 1"), "ams": "ams.site.tradewind"}
    roll.shut_out("ams")
    assert "ams" not in roll.members()
    roll.admit("ams")
    assert roll.members()["ams"] == principal("ams", roll.edition("ams")) == "ams.2.site.tradewind"
    roll.shut_out("ams")
    assert Roll(tmp_path / "trust").edition("ams") == 3


def test_names_of_editions_belong_to_one_site_only():
    names = [principal(site, edition) for site in ("ams", "ams.2", "2", "AMS", "ams-2") for edition in (1, 2, 3)]
    assert len(set(names)) == len(names)


def test_several_write_at_once_and_nothing_is_lost(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: Roll(tmp_path).admit(f"s{n}"), range(40)))
    assert len(Roll(tmp_path).members()) == 40
    assert stat.S_IMODE((tmp_path / "roll.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["[]", '{"members": {}}', '{"members": [1]}', '{"editions": {"a": "b"}}', "garbage"])
def test_a_damaged_roll_is_never_taken_for_an_empty_one(tmp_path, text):
    (tmp_path / "roll.json").write_text(text)
    with pytest.raises(TrustError):
        Roll(tmp_path).members()

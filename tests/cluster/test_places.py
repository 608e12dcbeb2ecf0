"""What a deployment may touch at a site: files below the site's root, whatever it names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.secrets import tables_of


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root with a link that leads out of it, and one that does not."""
    folder = tmp_path_factory.mktemp("machine")
    (folder / "root" / "data").mkdir(parents=True)
    (folder / "elsewhere").mkdir()
    (folder / "root" / "out").symlink_to(folder / "elsewhere")
    (folder / "root" / "in").symlink_to(folder / "root" / "data")
    return folder / "root"


def deployment(root, *, stream="data/s", deliver="data/q", tables="sqlite:///data/t.db", site="hq"):
    text = {
        "sites": {"hq": {"tables": tables}, "ams": {}},
        "links": [{"between": ["hq", "ams"], "mbps": 1, "usd_per_gb": 0.1}],
        "streams": {"s": {"schema": "ts TIMESTAMP, n INT", "time": "ts",
                          "at": {site: {"format": "json", "path": stream}}}},
        "queries": {"q": {"sql": "SELECT n FROM s", "deliver": {"site": site, "format": "json", "path": deliver}}},
    }  # fmt: skip
    return load(json.dumps(text), str(root / "d.yaml"))


OUTSIDE = ["/etc/passwd", "../x", "data/../../x", "out/x", "out", "data/../out/x"]
INSIDE = ["data/x", "in/x", "./x", "data/../x", "a..b/x", "..."]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("what", ["stream", "deliver", "tables"])
def test_paths_that_lead_out_are_refused(root, what, path):
    written = f"sqlite:///{path}" if what == "tables" else path
    with pytest.raises(InputError, match="outside of the folder") as refused:
        at_site(deployment(root, **{what: written}), "hq", root)
    where = {"stream": "streams.s.at.hq", "deliver": "queries.q.deliver", "tables": "sites.hq.tables"}[what]
    assert refused.value.where == where
    assert "--root" in str(refused.value.hint)


@pytest.mark.parametrize("path", INSIDE)
def test_all_below_the_root_is_allowed_and_tables_are_where_paths_are(root, path):
    at_site(deployment(root, deliver=path), "hq", root)
    found = at_site(deployment(root, stream=path, tables=f"sqlite:///{path}"), "hq", root)
    assert tables_of(found, "hq", root)["tables_at"].url == f"sqlite:///{(root / path).resolve()}"


def test_what_other_sites_do_is_their_business(root):
    at_site(deployment(root, stream="/etc", deliver="/var/q", site="ams"), "hq", root)
    found = at_site(deployment(root, tables="sqlite:////etc/x", site="ams"), "ams", root)
    assert tables_of(found, "ams") == {}


def test_the_environment_is_no_way_out(root, monkeypatch):
    for value in ("/etc/passwd", "sqlite:////etc/passwd", "../x"):
        monkeypatch.setenv("SOMETHING", value)
        with pytest.raises(InputError, match="outside of the folder"):
            at_site(deployment(root, tables="${env:SOMETHING}"), "hq", root)
    monkeypatch.setenv("SOMETHING", "/etc")
    with pytest.raises(InputError, match="outside of the folder"):
        at_site(deployment(root, tables="sqlite:///${env:SOMETHING}/passwd"), "hq", root)


def test_databases_stay_as_they_were_written(root, monkeypatch):
    monkeypatch.setenv("PASSWORD", "s3cret")
    written = "postgresql://me:${env:PASSWORD}@db/x"
    found = at_site(deployment(root, tables=written), "hq", root)
    assert found.sites["hq"].tables == written
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    "pattern",
    ["{data,../../etc}/*", "data/*/../../../etc", ".\\./*", "{.,./y}./etc/*", "{.,a}./x", "{data,{x,../../etc}}/*"],
)
def test_patterns_that_may_lead_anywhere_are_refused(root, pattern):
    with pytest.raises(InputError, match=r"leads|outside"):
        at_site(deployment(root, stream=pattern), "hq", root)


@pytest.mark.parametrize(
    "pattern", ["data/*.json", "data/{ams,waw}/*.json", "data/[a-z]?/x", "{a,b}{.csv,.json}", "data/*,x"]
)
def test_plain_patterns_are_allowed(root, pattern):
    at_site(deployment(root, stream=pattern), "hq", root)


def expanded(pattern: str) -> list[str]:
    """What Hadoop makes of a pattern's braces, the innermost first, and of its backslashes."""
    end = pattern.find("}")
    start = pattern.rfind("{", 0, end) if end >= 0 else -1
    if start < 0:
        return [pattern.replace("\\", "")]
    return [
        text
        for one in pattern[start + 1 : end].split(",")
        for text in expanded(pattern[:start] + one + pattern[end + 1 :])
    ]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(["..", ".", "/", "{", "}", ",", "a", "*", "\\", "out"]), min_size=1, max_size=12))
def test_no_pattern_whatever_leads_out_once_it_is_expanded(root, parts):
    pattern = "".join(parts)
    try:
        at_site(deployment(root, stream=pattern), "hq", root)
    except InputError:
        return
    if any(sign in pattern for sign in "*?[{"):
        for one in expanded(pattern):
            lexical = [part for part in one.split("/") if part not in {"", "."}]
            assert ".." not in lexical

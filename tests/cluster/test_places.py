"""What a deployment may touch at a site: files below the site's root, whatever it names."""

from __future__ import annotations

import json
from glob import glob
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.errors import InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.places import refuse_own
from tradewind.runtime.secrets import tables_of
from tradewind.spark.sources.bounds import Bounds, alternatives
from tradewind.spark.sources.readers import Desk
from tradewind.spark.sources.reading import Folders, reader


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
    assert tables_of(found, "hq", Bounds(root, within=True))["tables_at"].url == f"sqlite:///{(root / path).resolve()}"


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


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A root that an agent, a coordinator and links into both lie below."""
    folder = tmp_path_factory.mktemp("home")
    for kept in (".tradewind/agents/hq/identity", ".tradewind/coordinator/tokens", "kept/identity", "data"):
        (folder / kept).mkdir(parents=True)
    (folder / "kept" / "identity" / "key.pem").write_text("private")
    (folder / ".tradewind" / "coordinator" / "secret").write_text("private")
    (folder / "to_state").symlink_to(folder / "kept")
    (folder / "data" / "to_all").symlink_to(folder / ".tradewind")
    return folder


KEPT = [".tradewind", ".tradewind/agents/hq/identity/key.pem", "kept", "kept/identity", "to_state/identity",
        "data/to_all", "data/to_all/coordinator/secret", "data/../kept/x", "kept/new/file"]  # fmt: skip
KEPT_PATTERNS = [".trade*", ".trade*/*", "[.]tradewind/*", "{.tradewind,data}/*", "k*/identity/*", "*/identity/*",
                 "**/identity/*", "kept/*", "to_state/*", "to_state/identity/*.pem",
                 "data/to_all/*/*", "{a,kept}/*"]  # fmt: skip


@pytest.mark.parametrize("path", KEPT)
@pytest.mark.parametrize("what", ["stream", "deliver", "tables"])
def test_what_an_agent_keeps_is_nobody_elses(home, what, path):
    written = f"sqlite:///{path}" if what == "tables" else path
    with pytest.raises(InputError, match="keeps for itself"):
        at_site(deployment(home, **{what: written}), "hq", home, [home / "kept"])
    if what != "tables":
        with pytest.raises(InputError, match="keeps for itself"):
            refuse_own(deployment(home, **{what: written}), Bounds(home, (home / "kept",)))


@pytest.mark.parametrize("pattern", KEPT_PATTERNS)
def test_patterns_that_lead_to_what_is_kept_are_refused(home, pattern):
    with pytest.raises(InputError, match="keeps for itself"):
        at_site(deployment(home, stream=pattern), "hq", home, [home / "kept"])


@pytest.mark.parametrize("path", ["data/*.json", "*.json", "data/rows", "keeping/*", "kept.json", "tradewind/x"])
def test_all_else_below_the_root_may_be_named(home, path):
    at_site(deployment(home, stream=path), "hq", home, [home / "kept"])


PARTS = [
    "kept",
    "identity",
    ".tradewind",
    "data",
    "to_all",
    "to_state",
    "..",
    ".",
    "*",
    "k*",
    "?ept",
    "{kept,data}",
    "x",
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("/".join))
def test_no_path_and_no_pattern_reads_what_is_kept(home, path):
    """Whatever is let through at first, no file that is kept passes when a batch is read."""
    bounds = Bounds(home, (home / "kept",), within=True)
    if bounds.pattern_refusal(path) is not None:
        return
    for one in alternatives(path):
        for found in map(home.joinpath, glob(one, root_dir=home, include_hidden=True)):  # noqa: PTH207 - as Hadoop, `.` and all
            inside = [found, *found.rglob("*")] if found.is_dir() else [found]
            for file in inside:
                private = file.is_file() and file.read_text() == "private"
                assert not private or bounds.refusal(file) is not None


def test_a_link_that_came_later_is_not_followed(home):
    spark: Any = None  # files are landed later
    found = deployment(home, stream="data", deliver="answers")
    bounds = Bounds(home, (home / "kept",), within=True)
    made = reader(
        found.streams["s"], "s", "hq", Folders(home, home / "kept" / "run", home / "kept" / "run"), bounds=bounds
    )
    (home / "data" / "plain.json").write_text("{}")
    link = home / "data" / "later.json"
    link.symlink_to(home / "kept" / "identity" / "key.pem")
    plan = made.plan(spark, [home / "data" / "plain.json", link], Desk(0, home / "landed"))
    link.unlink()
    assert [task.part.file for task in plan.tasks] == [str(home / "data" / "plain.json")]
    assert plan.bad == [(link, "it lies in a folder that Tradewind keeps for itself")]

"""A deployment tried out at one site asks the same questions of the same origins."""

from pathlib import Path

import pytest

from tests.apps.reading import answers_of
from tradewind import deployment
from tradewind.apps.rehome import at_one_site
from tradewind.errors import InputError, UnknownNameError
from tradewind.frontends.deployment.check import load

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
TWO_SITES = """
sites: {a: {cores: 1}, b: {cores: 3}}
links: [{between: [a, b], mbps: 1}]
streams:
  s: {schema: "ts TIMESTAMP, v INT", time: ts, at: {a: {format: parquet, path: %s}, b: {format: parquet, path: %s}}}
queries:
  q: {sql: SELECT ts FROM s, deliver: {site: a, format: json, path: %s}}
  r: {sql: SELECT v FROM s, deliver: {site: b, format: json, path: %s}}
"""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_only_the_places_change(path):
    found = deployment(path)
    for site in found.sites:
        moved = at_one_site(found, site)
        assert moved.sites == {site: found.sites[site]}
        assert moved.links == ()
        assert moved.streams == found.streams
        assert moved.graph() == found.graph()
        for name, query in moved.queries.items():
            assert query.deliver.site == site
            assert query.deliver.path == found.queries[name].deliver.path
            assert query.fresh_within == found.queries[name].fresh_within


def test_the_deployment_itself_stays_as_it_is():
    found = load(TWO_SITES % ("x", "y", "p", "q"))
    at_one_site(found, "a")
    assert set(found.sites) == {"a", "b"}
    assert found.queries["r"].deliver.site == "b"


def test_origins_stay_apart():
    moved = at_one_site(load(TWO_SITES % ("x", "y", "p", "q")), "b")
    answers = answers_of(moved.graph(), [{"s": {"a": [(1, 5)], "b": [(2, 6)]}}])
    assert sorted(answers["r"]) == [(5,), (6,)]


def test_an_unknown_site_is_refused():
    with pytest.raises(UnknownNameError, match="unknown site 'c'"):
        at_one_site(load(TWO_SITES % ("x", "y", "p", "q")), "c")


@pytest.mark.parametrize(
    ("paths", "verb"), [(("x", "x/", "p", "q"), "are read"), (("x", "y", "p", "p"), "are delivered to")]
)
def test_paths_that_would_fall_together_are_refused(paths, verb):
    found = load(TWO_SITES % paths)
    with pytest.raises(InputError, match=f"{verb} both at 'a' and at 'b'"):
        at_one_site(found, "a")


def test_streams_without_files_can_be_moved():
    text = (
        "sites: {a: {}, b: {}}\nstreams: {s: {schema: v INT, at: {a: {rows_per_second: 1}, b: {rows_per_second: 1}}}}"
    )
    assert set(at_one_site(load(text), "b").streams["s"].origins) == {"a", "b"}

"""Options are checked before anything runs, and wrong ones are told with what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradewind.algebra.operators.core import Source
from tradewind.algebra.schema import parse_schema
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import DeclaredStream
from tradewind.frontends.deployment.formats import OPTIONS, checked
from tradewind.frontends.deployment.model import Origin
from tradewind.spark.sources.places import literal, place_of
from tradewind.spark.sources.reading import Folders, local, reader

DOCS = Path(__file__).parents[2] / "docs" / "sources.md"


def declared(**keys) -> DeclaredStream:
    source = Source("s", parse_schema("ts TIMESTAMP, v BIGINT", "ts"))
    return DeclaredStream(source, {"o": Origin(**keys)}, {}, "free", "fail")


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ({}, "can be planned but not run"),
        ({"format": "delta"}, "unknown format 'delta'"),
        ({"format": "json"}, "it has no path"),
        ({"format": "json", "path": "hdfs://x"}, "is not on this machine"),
        ({"format": "json", "path": "x", "options": {"header": True}}, "unknown option of json 'header'"),
        ({"format": "csv", "path": "x", "options": {"heder": True}}, "did you mean 'header'"),
        ({"format": "csv", "path": "x", "options": {"header": "yes"}}, "option header: 'yes' is not true or false"),
        ({"format": "csv", "path": "x", "options": {"delimiter": "||"}}, "is not one ASCII character"),
        ({"format": "csv", "path": "x", "options": {"quote": ","}}, "three different characters"),
        ({"format": "json", "path": "x", "options": {"epoch": "hours"}}, "there is: seconds, milliseconds"),
        ({"format": "json", "path": "x", "options": {"max_files_per_batch": 0}}, "no whole number of 1 or more"),
        (
            {"format": "json", "path": "x", "options": {"max_files_per_batch": 1, "max_bytes_per_batch": 1}},
            "only one of",
        ),
        ({"format": "xml", "path": "x", "options": {"rowTag": "a b"}}, "is no element's name"),
        ({"format": "text", "path": "x"}, "a text source needs a converter"),
        (
            {"format": "text", "path": "x", "options": {"converter": "fixed_binary", "fields": "v i8"}},
            "needs `format: binary`",
        ),
        ({"format": "binary", "path": "x", "options": {"converter": "key_value"}}, "needs `format: text`"),
        ({"format": "rate", "options": {"rows_per_second": 0}}, "is no rate"),
        ({"format": "rate", "options": {"start": "x"}}, "is not a time"),
        ({"format": "rate", "options": {"rows": 1.5}}, "no whole number"),
        ({"format": "push", "path": "x"}, "have no path"),
    ],
)
def test_wrong_declarations(tmp_path, keys, what) -> None:
    with pytest.raises(InputError, match=what) as error:
        reader(declared(**keys), "s", "o", Folders(tmp_path, tmp_path, tmp_path))
    assert str(error.value.where).startswith("streams.s.at.o")


def test_the_documentation_names_every_option() -> None:
    text = DOCS.read_text()
    for format_, options in OPTIONS.items():
        assert f"`{format_}`" in text
        for name in options:
            assert f"`{name}`" in text, name


def test_defaults() -> None:
    assert checked("csv", {"delimiter": ";"})["header"] is True
    assert checked("rate", {"start": "1970-01-02"})["start"] == 86_400_000_000


def test_paths() -> None:
    assert place_of("data/x", Path("/base")) == Path("/base/data/x")
    assert place_of("/data", Path("/base")) == Path("/data")
    assert literal("/a/[b]*") == "/a/\\[b\\]\\*"
    assert local("file:///a%20b/%25%C3%A9") == local("file:/a%20b/%25é") == Path("/a b/%é")

"""Warnings about data before a deployment runs."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests.runtime.deployments import lay_out, rows
from tradewind.cli.main import app
from tradewind.frontends.deployment.check import load
from tradewind.runtime.looking import warnings_of

FILE = """
sites: {here: {cores: 2}}
streams:
  requests:
    schema: ts TIMESTAMP, domain STRING, bytes BIGINT, status INT
    time: ts
    at: {here: {format: parquet, path: data/requests}}
queries:
  all:
    sql: SELECT ts, domain, bytes FROM requests
    deliver: {site: here, format: parquet, path: out/all}
"""


def test_check_warns_of_a_folder_that_is_not_there(tmp_path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(FILE)
    checked = CliRunner().invoke(app, ["check", str(path)])
    assert checked.exit_code == 0
    assert f"warning: streams.requests.at.here: there is no {tmp_path}/data/requests yet." in checked.stderr
    assert "no problems, 1 warning." in checked.stdout
    assert not (tmp_path / "data").exists()


def test_a_stream_with_many_missing_places_is_warned_of_once(tmp_path) -> None:
    path = tmp_path / "shop.yaml"
    more = "here: {cores: 2}, there: {cores: 2}"
    places = "here: {format: parquet, path: data/a}, there: {format: parquet, path: data/b}"
    text = FILE.replace("here: {cores: 2}", more).replace("here: {format: parquet, path: data/requests}", places)
    path.write_text(text.replace("streams:", "links: [{between: [here, there], mbps: 100, ms: 1}]\nstreams:"))
    [warning] = CliRunner().invoke(app, ["check", str(path)]).stderr.splitlines()
    assert f"there is no {tmp_path}/data/a yet (nor 1 other places of this stream)." in warning


def test_check_warns_of_columns_that_no_file_has(tmp_path) -> None:
    path = lay_out(tmp_path, rows(20, 1), FILE, files=2)
    assert "no problems." in CliRunner().invoke(app, ["check", str(path)]).stdout
    path.write_text(FILE.replace("domain STRING", "domian STRING").replace("domain,", "domian,"))
    checked = CliRunner().invoke(app, ["check", str(path), "--json"])
    assert checked.exit_code == 0
    [warning] = [one["what"] for one in json.loads(checked.stdout)["warnings"]]
    assert warning.startswith("streams.requests.at.here: no file that was looked at has column 'domian'")
    assert "did you mean 'domain'?" in warning


@pytest.mark.parametrize(
    ("declared", "hint"), [("bytes INT", "declare `bytes BIGINT`"), ("bytes STRING", "declare `bytes BIGINT`")]
)
def test_check_warns_of_columns_of_another_type(tmp_path, declared, hint) -> None:
    path = lay_out(tmp_path, rows(20, 1), FILE, files=2)
    path.write_text(FILE.replace("bytes BIGINT", declared))
    [warning] = CliRunner().invoke(app, ["check", str(path)]).stderr.splitlines()
    assert f"column bytes: declared {declared.split()[1]}, found int64; it cannot be read." in warning
    assert hint in warning


def test_a_standalone_spark_without_a_secret_is_warned_of(tmp_path, monkeypatch) -> None:
    sites = "sites: {a: {spark: 'spark://far:7077'}, here: {spark: 'local[2]'}, c: {}}"
    text = FILE.replace("sites: {here: {cores: 2}}", sites)
    (tmp_path / "data" / "requests").mkdir(parents=True)
    found = load(text, str(tmp_path / "d.yaml"))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    [warning] = warnings_of(found)
    assert warning.startswith("sites.a.spark: no secret is set here for spark://far:7077")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert len(warnings_of(found)) == 1
    (tmp_path / "spark-defaults.conf").write_text("# spark.authenticate.secret x\nspark.authenticate true\n")
    assert len(warnings_of(found)) == 1
    (tmp_path / "spark-defaults.conf").write_text("spark.authenticate true\nspark.authenticate.secret  s3cret\n")
    assert warnings_of(found) == []

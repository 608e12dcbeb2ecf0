"""Secrets come from the environment where something runs, and are found nowhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.spark.postgres_server import PROGRAMS, NoServerError, server
from tradewind.errors import DeploymentError, InputError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.secrets import resolved

SECRET = "s3cret-of-the-tables"
FILE = """
sites:
  bank: {cores: 1, tables: TABLES}
streams:
  changes: {schema: "ts TIMESTAMP, card STRING, most BIGINT", time: ts, at: {bank: {format: json, path: data}}}
tables:
  limits: {schema: "card STRING, most BIGINT", key: card}
flow:
  kept:
    box: update
    in: changes
    table: limits
    sql: INSERT INTO limits (card, most) VALUES (:card, :most)
    report: [ts, card]
queries:
  changed: {from: kept, deliver: {site: bank, format: json, path: out}}
"""


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("postgresql://me:open@host/db", "a password stands in the file"),
        ("postgresql://me:${env:A}x@host/db", "a password stands in the file"),
        ("postgresql://me:a:b@host:5432/db", "a password stands in the file"),
        ("postgresql://${env:NAME}:open@host/db", "a password stands in the file"),
        ("postgresql://a${env:NAME}b:${env:A}open@host/db", "a password stands in the file"),
        ("postgresql://me:@host/db", "a password stands in the file"),
        ("postgresql://host/db?user=me&password=open", "a password stands in the file"),
        ("postgresql://me@host/db?sslpassword=open#x", "a password stands in the file"),
        ("mysql://host/db", "'mysql' is no database"),
        ("${env:1A}", "is no database"),
    ],
)
def test_passwords_do_not_stand_in_files(url, what):
    with pytest.raises(DeploymentError, match=what) as told:
        load(FILE.replace("TABLES", json.dumps(url)))
    assert "open" not in str(told.value).replace("opened", "")


@pytest.mark.parametrize(
    "url",
    [
        "${env:URL}",
        "postgresql://me:${env:P}@h/db",
        "postgresql://me@h/db",
        "postgresql://${env:NAME}@h/db",
        "postgresql://${env:NAME}@h:5432/db",
        "postgresql://${env:NAME}:${env:P}@h/db",
        "postgresql://team-${env:NAME}@${env:HOST}/db",
        "postgresql://h/db?password=${env:P}&user=me",
        "sqlite:///t.db",
        "sqlite:///a:b@c.db",
    ],
)
def test_names_of_secrets_do(url):
    assert load(FILE.replace("TABLES", json.dumps(url))).sites["bank"].tables == url


def test_a_secret_that_is_not_there_is_told():
    with pytest.raises(InputError, match=r"sites\.bank\.tables: PASSWORD is not set here"):
        resolved("postgresql://me:${env:PASSWORD}@h/db", "sites.bank.tables", {})


@pytest.mark.spark
def test_tables_are_kept_in_a_server_and_its_password_is_found_nowhere(tmp_path: Path) -> None:
    if not PROGRAMS:
        pytest.skip("there is no PostgreSQL server under /usr/lib/postgresql")
    file = tmp_path / "cards.yaml"
    (tmp_path / "data").mkdir()
    rows = [{"ts": f"2026-01-01T00:00:0{n}Z", "card": "abc"[n % 3], "most": n} for n in range(6)]
    (tmp_path / "data" / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    try:
        with server() as url:
            at = urlsplit(url)
            named = f"postgresql://me:${{env:CARDS}}@{at.hostname}:{at.port}/postgres"
            file.write_text(FILE.replace("TABLES", json.dumps(named)))
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE me LOGIN SUPERUSER PASSWORD '{SECRET}'")
            said = [_said(file, command) for command in ("run --until-done --json", "plan --json", "explain")]
            with psycopg.connect(url) as connection:
                kept = connection.execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE '%limits%'").fetchone()
            assert kept is not None
            assert kept[0] > 0
    except NoServerError as error:
        pytest.skip(f"no PostgreSQL server: {error}")
    assert json.loads(said[0].stdout)["queries"]["changed"]["final"] == 6
    everything = "".join(one.stdout + one.stderr for one in said)
    everything += "".join(path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET not in everything


def _said(file: Path, command: str) -> subprocess.CompletedProcess[str]:
    verb, *options = command.split()
    done = subprocess.run(
        [sys.executable, "-m", "tradewind.cli.main", verb, str(file), *options],
        capture_output=True, text=True, timeout=200, check=False, env={**os.environ, "CARDS": SECRET},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done

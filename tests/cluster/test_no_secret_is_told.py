"""What `${env:NAME}` stands for is in no error, report, log or document, whatever goes wrong with it."""

from __future__ import annotations

import json
import logging
import pickle
import string
import traceback
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError, TradewindError
from tradewind.frontends.deployment.check import load
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.secrets import tables_of, values_of, without_secrets
from tradewind.spark.sources.bounds import Bounds
from tradewind.spark.tables.address import Address
from tradewind.spark.tables.store import Tables

NAME = "TRADEWIND_TEST_SECRET"
PLACES = [
    "sqlite:////nowhere/${env:NAME}/x.db",
    "sqlite:////dev/null/${env:NAME}",
    "sqlite:///../${env:NAME}",
    "sqlite:///${env:NAME}",
    "sqlite:///data/${env:NAME}/x.db",
    "sqlite:///data/file/${env:NAME}",
    "${env:NAME}",
    "postgresql://me:${env:NAME}@127.0.0.1:1/x",
    "postgresql://${env:NAME}.invalid:1/x",
    "postgresql://127.0.0.1:${env:NAME}/x",
    "postgresql://127.0.0.1:1/${env:NAME}",
    "postgresql://127.0.0.1:1/x?sslmode=${env:NAME}",
    "postgresql://127.0.0.1:1/x?${env:NAME}=1",
]
WRAPPED = [
    "{}",
    "{}://x",
    "postgresql://{}.invalid",
    "postgresql://me:{}@127.0.0.1:1/x",
    "sqlite:////{}/x",
    "../{}",
    "/dev/null/{}",
]
# Long and of rare signs, so that no message holds it by chance.
SECRETS = st.builds(
    "Zq{}Qz".format,
    st.text(alphabet=string.ascii_letters + string.digits + "%@/:?#[]{}&=~ '\"\\℀é\udcff", min_size=8, max_size=30),
)
FILE = {
    "sites": {"hq": {"tables": ""}},
    "streams": {"s": {"schema": "ts TIMESTAMP, card STRING, most BIGINT", "time": "ts",
                      "at": {"hq": {"format": "json", "path": "data"}}}},
    "tables": {"limits": {"schema": "card STRING, most BIGINT", "key": "card"}},
    "flow": {"kept": {"box": "update", "in": "s", "table": "limits", "report": ["ts", "card"],
                      "sql": "INSERT INTO limits (card, most) VALUES (:card, :most)"}},
    "queries": {"q": {"from": "kept", "deliver": {"site": "hq", "format": "json", "path": "out"}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("root")
    (folder / "data").mkdir()
    (folder / "data" / "file").write_text("{}")
    return folder


def deployment(root: Path, tables: str):
    text = {**FILE, "sites": {"hq": {"tables": tables}}}
    return load(json.dumps(text), str(root / "d.yaml"))


@contextmanager
def heard():
    """All that is logged meanwhile."""
    records: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(self.format(record))

    handler, logger = Kept(), logging.getLogger()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield records
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


def told_of(error: BaseException) -> list[str]:
    """All that an error can be made to say, with those that it carries."""
    texts = [str(error), repr(error), repr(error.args), repr(vars(error)), "".join(traceback.format_exception(error))]
    if isinstance(error, TradewindError):
        texts.append(str(pickle.loads(pickle.dumps(error))))
    carried = [one for one in (error.__cause__, error.__context__) if one is not None]
    return texts + [text for one in carried for text in told_of(one)]


def all_that_is_said(root: Path, tables: str) -> list[str]:
    """What is said of a deployment with a secret by all who work with it: the file, a site's bounds, its database."""
    said: list[str] = []
    with heard() as records:
        found = deployment(root, tables)
        said += [repr(found), str(found), repr(found.sites["hq"]), found.sites["hq"].model_dump_json()]
        boxes = [node for node in found.graph() if isinstance(node, Read | Update)]
        for bound in (root, None):
            try:
                if bound is not None:
                    said.append(repr(at_site(found, "hq", bound)))
                address = tables_of(found, "hq", None if bound is None else Bounds(bound, within=True))["tables_at"]
                said += [repr(address), str(address)]
                # No file is made outside of the root.
                if bound is not None or "postgresql" in tables or "/nowhere/" in tables:
                    kept = Tables(address, boxes)
                    said += [repr(kept), repr(vars(kept))]
                    kept.close()
            except InputError as error:
                said += told_of(error)
    return [*said, *records]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PLACES), st.sampled_from(WRAPPED), SECRETS)
@example(PLACES[0], "{}", "Zqhunter2hunter2Qz")
@example("${env:NAME}", "{}://x", "Zqhunter2hunter2Qz")
@example("postgresql://127.0.0.1:${env:NAME}/x", "{}", "Zqhunter2hunter2Qz")
@example("postgresql://me:${env:NAME}@127.0.0.1:1/x", "{}", "Zq50%hunter2Qz")
@example("postgresql://${env:NAME}.invalid:1/x", "{}", "Zqhunter\u2100hunterQz")
@example("${env:NAME}", "postgresql://me:{}@127.0.0.1:1/x", "Zqhunter2\udcffhunterQz")
def test_no_error_quotes_what_the_environment_holds(root, monkeypatch, place, wrapped, secret):
    monkeypatch.setenv(NAME, wrapped.format(secret))
    said = all_that_is_said(root, place.replace("NAME", NAME))
    assert said
    for text in said:
        for form in (secret, secret.lower(), repr(secret)[1:-1], json.dumps(secret)[1:-1]):
            assert form not in text


def test_errors_call_the_place_as_the_file_does(root, monkeypatch):
    monkeypatch.setenv(NAME, "hunter2")
    declared = f"sqlite:////dev/null/${{env:{NAME}}}/x.db"
    found = deployment(root, declared)
    boxes = [node for node in found.graph() if isinstance(node, Read | Update)]
    with pytest.raises(InputError, match="cannot be used as a database") as refused:
        Tables(tables_of(found, "hq")["tables_at"], boxes)
    assert refused.value.where == declared
    with pytest.raises(InputError, match="outside of the folder") as refused:
        at_site(found, "hq", root)
    assert declared in refused.value.what


def test_what_a_database_quotes_is_named_instead(root):
    found = deployment(root, f"postgresql://me:${{env:{NAME}}}@db/x")
    environment = {NAME: "a%40b-hunter2"}
    assert without_secrets("no a%40b-hunter2, nor a@b-hunter2", found, environment) == (
        f"no ${{env:{NAME}}}, nor ${{env:{NAME}}}"
    )
    whole = deployment(root, f"${{env:{NAME}}}")
    assert "hunter2" in values_of(whole, {NAME: "postgresql://me:hunter2@db/x"})


def test_a_password_in_a_url_that_a_program_gives_is_not_shown():
    address = Address.of("postgresql://me:hunter2@db/x")
    assert "hunter2" not in f"{address} {address!r}"

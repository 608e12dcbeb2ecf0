"""The interface is as its own description says: requests are made from it, and answers held against it."""

from __future__ import annotations

import itertools

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.web.paper_desk import HOST, SECRET, made

_HEADERS = {"Authorization": f"Bearer {SECRET}", "Host": HOST}
_CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
# A minute passes whenever somebody looks: made-up tokens come too fast for a real one.
_app = made(clock=itertools.count(0.0, 61.0).__next__)
# Events have no end: they are asked for at a real port.
schema = schemathesis.openapi.from_asgi("/v1/openapi.json", _app, headers=_HEADERS).exclude(path="/v1/events")


@schema.parametrize()
@settings(max_examples=15, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
def test_it_is_as_described(case: schemathesis.Case) -> None:
    got = case.call_and_validate(headers=_HEADERS, checks=_CHECKS)
    # Or nothing but the guard would be tested.
    if case.meta is not None and case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE:
        assert got.status_code not in (401, 403, 421, 429)

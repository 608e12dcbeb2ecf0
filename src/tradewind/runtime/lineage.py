"""OpenLineage: what reads which streams and delivers which answers, as events of runs. Plain data, without a clock.

A query is a job. Streams are its inputs, one dataset for each site where rows arise, and its answer is the output. The
namespace of a dataset names the site and the format, and its name is the path there, so that what one query delivers
and another deployment reads is the same dataset.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from tradewind.algebra.graph import Graph
from tradewind.algebra.schema import Schema
from tradewind.frontends.deployment.deployment import Deployment, Query

Kind = Literal["START", "COMPLETE", "ABORT", "FAIL"]

_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "schema": f"{_SPEC}/facets/1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
    "jobType": f"{_SPEC}/facets/2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet",
    "errorMessage": f"{_SPEC}/facets/1-0-1/ErrorMessageRunFacet.json#/$defs/ErrorMessageRunFacet",
}
_PRODUCER = f"urn:tradewind:{version('tradewind')}"
_LONGEST = 2_000
"""Letters of an error's message."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a query: its id, the job that it is a run of, and what it reads and writes, as OpenLineage has it."""

    id: str
    job: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"id": self.id, "job": self.job, "inputs": list(self.inputs), "outputs": list(self.outputs)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Run:
        """What was written."""
        return Run(data["id"], data["job"], tuple(data["inputs"]), tuple(data["outputs"]))


def run_id(*names: str) -> str:
    """The id of a run, which follows from what it is a run of.

    >>> run_id("cdn-1", "top") == run_id("cdn-1", "top") != run_id("cdn-2", "top")
    True
    """
    found = uuid.NAMESPACE_OID
    for name in names:
        found = uuid.uuid5(found, name)
    return str(found)


def run_of(found: Deployment, name: str, *, namespace: str, until_done: bool, run: str) -> Run:
    """A run of one of a deployment's queries."""
    query = found.queries[name]
    streams = Graph(((name, query.operator),)).sources()
    kind = {"processingType": "BATCH" if until_done else "STREAMING", "integration": "TRADEWIND", "jobType": "QUERY"}
    return Run(
        run,
        {
            "namespace": namespace,
            "name": f"{Path(found.name).stem}.{name}",
            "facets": {"jobType": _facet("jobType", kind)},
        },
        tuple(one for stream in streams for one in _inputs(found, stream)),
        (_output(name, query),),
    )


def event(
    kind: Kind, run: Run, at: datetime, *, error: str | None = None, secrets: Iterable[str] = ()
) -> dict[str, Any]:
    """What happened to a run, as it is sent. Secrets that an error quotes are left out."""
    facets = {} if error is None else {"errorMessage": _facet("errorMessage", _message(error, secrets))}
    return {
        "eventType": kind,
        "eventTime": at.isoformat(timespec="milliseconds"),
        "producer": _PRODUCER,
        "schemaURL": _EVENT,
        "run": {"runId": run.id, "facets": facets},
        "job": dict(run.job),
        "inputs": list(run.inputs),
        "outputs": list(run.outputs),
    }


def _message(error: str, secrets: Iterable[str]) -> dict[str, str]:
    for secret in filter(None, secrets):
        error = error.replace(secret, "…")
    return {"message": error[:_LONGEST], "programmingLanguage": "PYTHON"}


def _inputs(found: Deployment, stream: str) -> Iterable[dict[str, Any]]:
    declared = found.streams[stream]
    for site, origin in declared.origins.items():
        yield _dataset(site, origin.format or "rows", origin.path or stream, declared.source.schema)


def _output(name: str, query: Query) -> dict[str, Any]:
    deliver = query.deliver
    kind = deliver.format or ("parquet" if deliver.path else "rows")
    return _dataset(deliver.site, kind, deliver.path or name, query.operator.schema)


def _dataset(site: str, kind: str, name: str, schema: Schema) -> dict[str, Any]:
    fields = [{"name": column, "type": str(type_)} for column, type_ in schema.columns]
    return {
        "namespace": f"tradewind://{site}/{kind}",
        "name": name,
        "facets": {"schema": _facet("schema", {"fields": fields})},
    }


def _facet(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"_producer": _PRODUCER, "_schemaURL": _FACETS[name], **content}

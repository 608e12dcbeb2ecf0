"""From the text of a deployment file to a `Deployment`, or to one error with everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tradewind.algebra.operators.base import Operator
from tradewind.algebra.precision import with_error
from tradewind.errors import InputError, unknown
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.deployment.declarations import Declarations, declare, missing_sections
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment, Query
from tradewind.frontends.deployment.endpoints import check_endpoints
from tradewind.frontends.deployment.model import OBJECTIVES, DeploymentFile, QueryKeys
from tradewind.frontends.deployment.network import check_deliveries, check_network, check_sinks, names_in
from tradewind.frontends.deployment.questions import Questions
from tradewind.frontends.deployment.report import Report
from tradewind.frontends.deployment.shape import Shape, fitting
from tradewind.frontends.deployment.yaml import MAX_BYTES, TOO_LARGE, Complaint, Document, read_yaml
from tradewind.frontends.flow.findings import Finding, finding, likely, shown
from tradewind.frontends.flow.kinds import BOXES
from tradewind.frontends.flow.read import FlowReader, Scope
from tradewind.frontends.metrics.grammar import read_metric


def load(text: str, name: str = "deployment") -> Deployment:
    """The deployment that a text declares, called `name` in problems; raises `DeploymentError` with all of them."""
    document = read_yaml(text)
    report = Report(name, document)
    if not isinstance(document.data, Mapping):
        if document.data is not None or not document.complaints:
            report.add(
                [
                    Finding(
                        (),
                        f"a deployment is a mapping, not {shown(document.data)}.",
                        "sites: …, streams: …, queries: …",
                    )
                ]
            )
        report.raise_if_any()
    return _checked(document.data, name, report)


def load_bytes(data: bytes, name: str = "deployment") -> Deployment:
    """As `load`, from the bytes of a file: UTF-8, with or without a mark of byte order."""
    complaint = None
    if len(data) > MAX_BYTES:
        complaint = Complaint(1, 1, TOO_LARGE, "split it into several deployments.")
    else:
        try:
            return load(data.decode("utf-8-sig"), name)
        except UnicodeDecodeError as error:
            before = data[: error.start]
            line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
            what = f"the byte 0x{data[error.start]:02X} is not UTF-8."
            complaint = Complaint(line, column, what, "is this a YAML file? Save it as UTF-8.")
    Report(name, Document(complaints=[complaint])).raise_if_any()
    raise AssertionError("a complaint was raised")


def load_more(text: str, added: Sequence[str], more: str, name: str, called: str) -> Deployment:
    """The deployment that a text declares with the queries that others added, which are all right, and those that one
    `more` adds. Problems are those of this last one, which is `called` something.
    """
    raw = dict(read_yaml(text).data)
    for earlier in added:
        raw["queries"] = {**(raw.get("queries") or {}), **read_yaml(earlier).data["queries"]}
    document = read_yaml(more)
    report = Report(called, document)
    given = document.data if isinstance(document.data, Mapping) else {}
    report.add(
        Finding((str(key),), f"only queries can be added, not {key!r}.", "queries: {…}.", at_key=True)
        for key in given
        if key != "queries"
    )
    queries = given.get("queries")
    known = raw.get("queries") or {}
    if not isinstance(queries, Mapping) or not queries:
        report.add([Finding((), "there are no queries in it.", "queries: {name: {sql: …, deliver: {site: …}}}.")])
        report.raise_if_any()
        raise AssertionError("a finding was raised")
    report.add(
        Finding(("queries", str(query)), f"query {query!r} runs already.", "give it another name.", at_key=True)
        for query in queries
        if query in known
    )
    return _checked({**raw, "queries": {**known, **queries}}, name, report)


def _checked(raw: Mapping[str, Any], name: str, report: Report) -> Deployment:
    shape = fitting(raw)
    file = shape.file
    report.add(missing_sections(raw))
    report.add(shape.findings)
    declared = declare(file, raw)
    report.add(declared.findings)
    report.add(check_network(file, shape.links, raw))
    report.add(check_deliveries(file, raw))
    report.add(check_endpoints(file, raw))
    report.add(_check_names(file, raw))
    catalog, operators, findings = _ask(file, raw, declared)
    report.add(findings)
    report.add(check_sinks(file, raw, operators, declared.streams))
    report.add(_check_selectivity(file, raw))
    report.raise_if_any()
    report.add(_check_whole(file, declared, operators))
    report.add(_fit(operators, file))
    report.raise_if_any()
    return _deployment(name, shape, declared, catalog, operators)


def _fit(operators: dict[str, Operator], file: DeploymentFile) -> Iterator[Finding]:
    """Give the sketches of each query the size that its error asks for."""
    for query, keys in file.queries.items():
        if keys.error and query in operators:
            try:
                operators[query] = with_error(operators[query], keys.error)
            except InputError as error:
                yield finding(("queries", query, "error"), error)


def _ask(
    file: DeploymentFile, raw: Mapping[str, Any], declared: Declarations
) -> tuple[Catalog, dict[str, Operator], list[Finding]]:
    """Build the shared flow and the queries over all declarations that are right."""
    plain = Catalog(declared.streams, declared.tables, declared.aggregates)
    broken = frozenset(declared.failed | set(names_in(raw, "boxes")) - set(file.boxes))
    reader = FlowReader(plain, file.boxes, broken)
    shared = reader.read(file.flow, Scope(plain.streams, ("flow",), broken))
    failed = broken | (set(names_in(raw, "flow")) - {name.partition(".")[0] for name in shared})
    boxes = {name: node for name, node in shared.items() if "." not in name}
    catalog = Catalog({**declared.streams, **boxes}, declared.tables, declared.aggregates)
    queries = raw.get("queries")
    asked = Questions(catalog, shared, reader, failed).read(queries if isinstance(queries, Mapping) else {})
    return catalog, asked, list(reader.findings)


def _check_names(file: DeploymentFile, raw: Mapping[str, Any]) -> Iterator[Finding]:
    metrics = names_in(raw, "metrics")
    if file.objective not in (*OBJECTIVES, *metrics):
        yield finding(("objective",), unknown("objective", file.objective, [*OBJECTIVES, *metrics]))
    for name, metric in file.metrics.items():
        try:
            read_metric(metric)
        except InputError as error:
            yield finding(("metrics", name), error)
    for name in file.boxes:
        if name in BOXES:
            yield Finding(("boxes", name), f"{name!r} is a kind of box already.", "choose another name.", at_key=True)


def _check_selectivity(file: DeploymentFile, raw: Mapping[str, Any]) -> Iterator[Finding]:
    streams = names_in(raw, "streams")
    for name, query in file.queries.items():
        for pair in query.selectivity:
            path, ends = ("queries", name, "selectivity", pair), _pair(pair)
            if len(ends) != 2 or ends[0] == ends[1]:
                yield Finding(path, f"{shown(pair)} does not name two streams.", 'write "A,B": 0.001.', at_key=True)
                continue
            for end in ends:
                if end not in streams:
                    one = finding(path, unknown("stream", end, likely(end, streams)))
                    yield Finding(path, one.what, one.hint, at_key=True)


def _check_whole(file: DeploymentFile, declared: Declarations, operators: Mapping[str, Operator]) -> Iterator[Finding]:
    """What could not be built although nothing was found to be wrong with it; it must not be left out in silence."""
    for section, keys, built in (("streams", file.streams, declared.streams), ("queries", file.queries, operators)):
        for name in set(keys) - set(built):
            yield Finding((section, name), f"{name!r} cannot be read.", "write it in another way.", at_key=True)


def _pair(text: str) -> list[str]:
    return sorted(part.strip() for part in text.split(","))


def _deployment(
    name: str, shape: Shape, declared: Declarations, catalog: Catalog, operators: Mapping[str, Operator]
) -> Deployment:
    file = shape.file
    streams = {
        stream: DeclaredStream(
            declared.streams[stream],
            keys.at,
            keys.distinct,
            keys.leave_region,
            keys.on_bad,
            keys.skew,
            keys.idle_after,
        )
        for stream, keys in file.streams.items()
    }
    queries = {query: _query(operators[query], keys) for query, keys in file.queries.items()}
    return Deployment(
        name, file.sites, file.links, streams, queries, catalog, file.objective, file.metrics, file.channels
    )


def _query(operator: Operator, keys: QueryKeys) -> Query:
    selectivity = {(ends[0], ends[1]): value for pair, value in keys.selectivity.items() if (ends := _pair(pair))}
    return Query(
        operator,
        keys.deliver,
        keys.fresh_within,
        keys.error,
        keys.priority,
        keys.revise_within,
        keys.tentative,
        selectivity,
        keys.pin,
    )

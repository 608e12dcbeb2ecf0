"""What a run is asked: a deployment's own queries, others in their place, or more of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tradewind.algebra.operators.base import walk
from tradewind.algebra.operators.stored import Read, Update
from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import Deployment, Query
from tradewind.frontends.deployment.model import Deliver
from tradewind.frontends.deployment.questions import misnamed
from tradewind.frontends.fluent import Delivery


def asking(found: Deployment, queries: Mapping[str, Delivery] | None) -> Deployment:
    """The deployment with the queries that are given in place of the file's own."""
    return found if queries is None else replace(found, queries=_read(queries))


def asking_also(found: Deployment, queries: Mapping[str, Delivery]) -> Deployment:
    """The deployment with more queries beside those that it has."""
    return replace(found, queries={**found.queries, **_read(queries)})


def added(runs: Deployment, wanted: Deployment) -> dict[str, Query]:
    """The queries that a deployment has besides those that run, which have to be the same."""
    for name, query in runs.queries.items():
        if name not in wanted.queries or wanted.queries[name].operator != query.operator:
            raise InputError(
                f"query {name!r} is not what runs.", hint="the file has changed since the run began: undo that."
            )
    more = {name: query for name, query in wanted.queries.items() if name not in runs.queries}
    for name, query in more.items():
        if any(isinstance(node, Read | Update) for node in walk(query.operator)):
            raise InputError(
                f"query {name!r} works on a table.",
                where=f"queries.{name}",
                hint="what reads or updates tables has to be there when the run begins.",
            )
    return more


def _read(queries: Mapping[str, Delivery]) -> dict[str, Query]:
    asked: dict[str, Query] = {}
    for name, given in queries.items():
        if not isinstance(given, Delivery):
            raise InputError(f"query {name!r} is not delivered anywhere.", hint='stream.deliver("site").')
        if fault := misnamed(given.stream.operator):
            raise fault.at(f"query {name}")
        asked[name] = Query(given.stream.operator, Deliver.model_validate({"site": given.site, **given.options}))
    return asked


def horizon_of(found: Deployment) -> int | None:
    """How late rows may come and still count: as long as the most patient query says; for ever if one says nothing."""
    wishes = [query.revise_within for query in found.queries.values()]
    known = [wish for wish in wishes if wish is not None]
    return max(known) if len(known) == len(wishes) else None

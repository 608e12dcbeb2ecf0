"""Answers that lie where a deployment would deliver its own. Only sites know of them: they are asked beforehand."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from tradewind.errors import RunError, TradewindError
from tradewind.frontends.deployment.check import load
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.places import sink_of
from tradewind.spark.sinks import Files

KIND = "delivered"
"""The kind of the question."""

Held = list[dict[str, str]]
"""Queries whose answers are at a site already."""


def held(found: Deployment, text: str, alive: Collection[str], ask: Callable[[str, dict[str, Any]], Any]) -> Held:
    """Of a deployment's queries, those whose places hold rows already, as far as the sites are there to tell."""
    delivering = {query.deliver.site for query in found.queries.values() if query.deliver.path is not None}
    told: Held = []
    for site in sorted(delivering & set(alive)):
        # What else is wrong there the site tells when it runs.
        with suppress(TradewindError):
            names = ask(site, {"kind": KIND, "text": text, "called": Path(found.name).name})
            told += [{"query": name, "site": site} for name in found.queries if name in names]
    return told


def answered(question: dict[str, Any], site: str, root: Path, state: Path) -> list[str]:
    """At a site: the queries of a text whose places hold rows."""
    declared = load(str(question.get("text")), str(root / Path(str(question.get("called"))).name))
    found = at_site(declared, site, root, [state])
    here = {name: one for name, one in found.queries.items() if one.deliver.site == site}
    sinks = {name: sink_of(name, one, root, None, pulled=False) for name, one in here.items()}
    return [name for name, sink in sinks.items() if isinstance(sink, Files) and sink.published()]


def refuse(found: Held) -> None:
    """What was delivered before must not be mixed with what would be."""
    if found:
        places = ", ".join(f"{one['query']} at {one['site']}" for one in found)
        raise RunError(
            f"answers are there already: {places}.", hint="--fresh removes them; or deliver to another folder."
        )

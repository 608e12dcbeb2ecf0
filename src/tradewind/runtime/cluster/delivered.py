"""Answers that lie where a deployment would deliver its own. Only sites know of them: they are asked beforehand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tradewind.errors import RunError, TradewindError
from tradewind.frontends.deployment.check import load, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.places import at_site
from tradewind.runtime.places import sink_of
from tradewind.spark.sinks import Files

KIND = "delivered"
"""The kind of the question."""

Held = list[dict[str, Any]]
"""Queries whose answers are at a site already, each with its folder and how many files are there."""


def held(
    found: Deployment, texts: Sequence[str], alive: Collection[str], ask: Callable[[str, dict[str, Any]], Any]
) -> Held:
    """Of a deployment's queries, those whose places hold rows already, as far as the sites are there to tell. The first
    of its texts is its file, the others are those of queries that were added.
    """
    delivering = {query.deliver.site for query in found.queries.values() if query.deliver.path is not None}
    told: Held = []
    for site in sorted(delivering & set(alive)):
        # What else is wrong there the site tells when it runs.
        with suppress(TradewindError):
            question = {"kind": KIND, "text": texts[0], "added": list(texts[1:]), "called": Path(found.name).name}
            files = ask(site, question)
            told += [
                {"query": name, "site": site, "path": query.deliver.path, "files": int(files[name])}
                for name, query in found.queries.items()
                if name in files
            ]
    return told


def answered(question: dict[str, Any], site: str, root: Path, state: Path) -> dict[str, int]:
    """At a site: the queries of a text whose places hold rows, and in how many files."""
    called = str(root / Path(str(question.get("called"))).name)
    text, added = str(question.get("text")), [str(one) for one in question.get("added", ())]
    declared = load_more(text, added[:-1], added[-1], called, "queries") if added else load(text, called)
    found = at_site(declared, site, root, [state])
    here = {name: one for name, one in found.queries.items() if one.deliver.site == site}
    sinks = {name: sink_of(name, one, root, None, pulled=False) for name, one in here.items()}
    files = {name: len(sink.published()) for name, sink in sinks.items() if isinstance(sink, Files)}
    return {name: count for name, count in files.items() if count}


def refuse(found: Held, hint: str = "--fresh removes them; or deliver to another folder.") -> None:
    """What was delivered before must not be mixed with what would be."""
    if found:
        places = ", ".join(f"{one['query']} at {one['site']} ({one['path']})" for one in found)
        raise RunError(f"answers are there already: {places}.", hint=hint)

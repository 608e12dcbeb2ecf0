"""What a deployment runs as plain data, for sites that are told over a network: nothing but JSON crosses it.

All operators are in one graph, so that what fragments share is written once, and everything is checked anew when it is
read: expressions are parsed, types worked out, and references followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.base import Operator
from tradewind.errors import GraphError, InputError
from tradewind.fragments.deployed import Channel, Deployed, Fragment

_T = TypeVar("_T")


def to_data(deployed: Deployed) -> dict[str, Any]:
    """All that `from_data` needs."""
    names: dict[Operator, str] = {}

    def named(node: Operator) -> str:
        return names.setdefault(node, f"n{len(names)}")

    fragments = [
        {
            "site": one.site,
            "results": {name: named(node) for name, node in one.graph.results},
            "inputs": {name: named(node) for name, node in one.inputs.items()},
            "outputs": list(one.outputs),
            "answers": list(one.answers),
        }
        for one in deployed.fragments
    ]
    channels = [
        {
            "name": one.name,
            "operator": named(one.operator),
            "site": one.site,
            "origins": [list(origin) for origin in one.origins],
            "hops": [list(hop) for hop in one.hops],
        }
        for one in deployed.channels.values()
    ]
    had = [[content, site, channel] for (content, site), channel in deployed.had.items()]
    graph = Graph(tuple((name, node) for node, name in names.items())).to_json()
    return {"graph": graph, "fragments": fragments, "channels": channels, "had": had}


def from_data(data: object) -> Deployed:
    """What was written; a `GraphError` says what is wrong with anything else."""
    if not isinstance(data, Mapping):
        raise GraphError("what runs is a mapping.")
    nodes = dict(Graph.from_json(data.get("graph")).results)
    try:
        fragments = tuple(_fragment(one, nodes) for one in data["fragments"])
        channels = {one["name"]: _channel(one, nodes) for one in data["channels"]}
        had = {(str(content), str(site)): str(channel) for content, site, channel in data["had"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise GraphError(f"what runs has a wrong form: {type(error).__name__}: {error}.") from None
    found = Deployed(fragments, channels, had)
    _check(found)
    return found


def fragment_to_data(fragment: Fragment) -> dict[str, Any]:
    """One fragment by itself: all that `fragment_from_data` needs."""
    results, inputs = dict(fragment.graph.results), dict(fragment.inputs)
    named = {
        **{f"r{n}": node for n, node in enumerate(results.values())},
        **{f"i{n}": node for n, node in enumerate(inputs.values())},
    }
    return {
        "site": fragment.site,
        "graph": Graph(tuple(named.items())).to_json(),
        "results": {name: f"r{n}" for n, name in enumerate(results)},
        "inputs": {name: f"i{n}" for n, name in enumerate(inputs)},
        "outputs": list(fragment.outputs),
        "answers": list(fragment.answers),
    }


def fragment_from_data(data: object) -> Fragment:
    """What was written; a `GraphError` says what is wrong with anything else."""
    if not isinstance(data, Mapping):
        raise GraphError("a fragment is a mapping.")
    return _fragment(data, dict(Graph.from_json(data.get("graph")).results))


def _fragment(data: Mapping[str, Any], nodes: Mapping[str, Operator]) -> Fragment:
    results = tuple((str(name), nodes[ref]) for name, ref in data["results"].items())
    inputs = {str(name): nodes[ref] for name, ref in data["inputs"].items()}
    return Fragment(str(data["site"]), Graph(results), inputs, _texts(data["outputs"]), _texts(data["answers"]))


def _channel(data: Mapping[str, Any], nodes: Mapping[str, Operator]) -> Channel:
    return Channel(
        str(data["name"]),
        nodes[data["operator"]],
        str(data["site"]),
        _all(data["origins"], _pair),
        _all(data["hops"], _pair),
    )


def _texts(data: Any) -> tuple[str, ...]:
    return _all(data, str)


def _all(data: Any, one: Callable[[Any], _T]) -> tuple[_T, ...]:
    if not isinstance(data, list):
        raise TypeError(f"{str(data)[:60]!r} is no list")
    return tuple(one(item) for item in data)


def _pair(data: Any) -> tuple[str, str]:
    first, second = data
    return str(first), str(second)


def _check(deployed: Deployed) -> None:
    """Fragments and channels fit together: what is read is written before, and to be had where it is read."""
    given: set[str] = set()
    for one in deployed.fragments:
        for name, node in one.inputs.items():
            channel = deployed.channels.get(name)
            if name not in given or channel is None or channel.operator != node or one.site not in channel.sites:
                raise GraphError(f"fragment {one.name!r} reads {name!r}, which is not to be had at {one.site!r}.")
        for name in (*one.outputs, *one.answers):
            one.graph[name]
        given.update(one.outputs)
    unwritten = set(deployed.channels) - given
    if unwritten:
        raise GraphError(f"nobody writes the channel {min(unwritten)!r}.")

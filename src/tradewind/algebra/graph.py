"""A graph: named results over shared operators, and its form as plain JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tradewind.algebra.aggregates import AGGREGATES, AggregateCall, UserAggregate, user_aggregate
from tradewind.algebra.expressions.printing import print_expression
from tradewind.algebra.expressions.typing import parse_expression
from tradewind.algebra.operators.aggregation import Aggregate, Combine, Finish, Merge, Partial
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.windows import window_from_json, window_to_json
from tradewind.errors import GraphError, InputError, unknown

KINDS: dict[str, type[Operator]] = {
    class_.__name__.lower(): class_
    for class_ in (
        Source, Filter, Map, Union, Join, Top, ConnectionPoint, Aggregate, Partial, Combine, Merge, Finish, Order,
        Resample, WaitFor, Read, Update, Distinct, Sample, Split, Superbox,
    )
}  # fmt: skip
"""Every kind of operator by name."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One or more named results; what they have in common is there once."""

    results: tuple[tuple[str, Operator], ...]

    def __post_init__(self) -> None:
        names = Counter(name for name, _ in self.results)
        twice = [name for name, count in names.items() if count > 1]
        if twice:
            raise GraphError(f"two results are named {twice[0]!r}.")
        if not self.results:
            raise GraphError("a graph needs at least one result.")

    @staticmethod
    def of(**results: Operator) -> Graph:
        """A graph with the given results."""
        return Graph(tuple(results.items()))

    def __getitem__(self, name: str) -> Operator:
        found = dict(self.results)
        if name not in found:
            raise unknown("result", name, found)
        return found[name]

    def __iter__(self) -> Iterator[Operator]:
        """Every operator once, inputs first."""
        return walk(*(node for _, node in self.results))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the results."""
        return tuple(name for name, _ in self.results)

    def sources(self) -> dict[str, Source]:
        """One source node per stream that the graph reads."""
        return {node.stream: node for node in self if isinstance(node, Source)}

    def to_json(self) -> dict[str, Any]:
        """Plain data: nodes in order, each naming its inputs, and the results."""
        ids: dict[Operator, str] = {}
        nodes = []
        for node in self:
            ids[node] = f"{node.kind}-{len(ids) + 1}"
            parameters = {
                f.name: encode(getattr(node, f.name)) for f in fields(node) if f.init and f.name not in node.takes
            }
            inputs = {name: _ids(getattr(node, name), ids) for name in node.takes}
            kept = {name: value for name, value in (parameters | inputs).items() if value is not None}
            nodes.append({"id": ids[node], "kind": node.kind, **kept})
        return {"nodes": nodes, "results": {name: ids[node] for name, node in self.results}}

    @staticmethod
    def from_json(data: object) -> Graph:
        """The graph that `to_json` wrote; everything is checked anew."""
        parts = data if isinstance(data, Mapping) else {}
        nodes, results = parts.get("nodes"), parts.get("results")
        if not isinstance(nodes, list) or not isinstance(results, dict):
            raise GraphError("a graph has a list of nodes and a mapping of results.")
        built: dict[str, Operator] = {}
        for item in nodes:
            id_, class_ = _head(item)
            if id_ in built:
                raise GraphError(f"two nodes have the id {id_!r}.")
            inputs = {name: _nodes(item.get(name), built, id_) for name in class_.takes}
            try:
                built[id_] = decode(class_, item, inputs)
            except (TypeError, KeyError, AttributeError, IndexError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                raise GraphError(f"a parameter of node {id_!r} has a wrong form: {error}.") from None
        return Graph(tuple((name, _node(id_, built, name)) for name, id_ in results.items()))


def _head(item: Any) -> tuple[str, type[Operator]]:
    """The id and the class of a node, which has all the keys that it needs and no others."""
    if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("id", "kind")):
        raise GraphError(f"a node is a mapping with an id and a kind, not {str(item)[:60]!r}.")
    id_, class_ = item["id"], KINDS.get(item["kind"])
    if class_ is None:
        raise unknown("kind of operator", item["kind"], KINDS)
    known = {one.name: one.default is MISSING for one in fields(class_) if one.init}
    for key in item:
        if key not in ("id", "kind", *known):
            raise unknown("parameter", key, known, f"node {id_}")
        if item[key] is None:
            raise GraphError(f"node {id_!r} has no value for {key!r}.", hint="what has none is left out.")
    for key, needed in known.items():
        if needed and key not in item:
            raise GraphError(f"node {id_!r} has no {key!r}.")
    return id_, class_


def _ids(value: Any, ids: dict[Operator, str]) -> Any:
    return ids[value] if isinstance(value, Operator) else value and [ids[one] for one in value]


def _node(id_: Any, built: dict[str, Operator], reader: str) -> Operator:
    if not isinstance(id_, str) or id_ not in built:
        raise GraphError(
            f"{reader!r} reads {id_!r}, which does not come before it.",
            hint="nodes are listed inputs first; cycles are not allowed.",
        )
    return built[id_]


def _nodes(value: Any, built: dict[str, Operator], reader: str) -> Any:
    if isinstance(value, list):
        return tuple(_node(id_, built, reader) for id_ in value)
    return value and _node(value, built, reader)


def encode(value: Any) -> Any:
    """A parameter as plain data; expressions as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Schema():
            times = dict(value.times)
            return {"columns": str(value), **({"times": times} if times else {})}
        case Table():
            return {"name": value.name, "schema": str(value.schema), "key": list(value.key)}
        case Band():
            return {"left": value.left, "right": value.right, "low": value.low, "high": value.high}
        case AggregateCall():
            return _encode_call(value)
        case tuple():
            return [encode(item) for item in value]
    if hasattr(value, "aligned"):
        return window_to_json(value)
    return print_expression(value)


def _encode_call(call: AggregateCall) -> dict[str, Any]:
    plain = {"function": call.function, "arguments": encode(call.arguments), "parameters": list(call.parameters)}
    kept = {name: value for name, value in plain.items() if value}
    return kept | ({"user": _encode_user(call.user)} if call.user else {})


def _encode_user(user: UserAggregate) -> dict[str, str]:
    texts = {part: print_expression(getattr(user, part)) for part in ("lift", "merge", "finish")}
    return {"name": user.name, "over": str(user.over), **texts}


def decode(class_: type[Operator], item: Mapping[str, Any], inputs: dict[str, Any]) -> Operator:
    """A node from its plain data and its inputs."""
    first = next((v if isinstance(v, Operator) else v[0] for v in inputs.values() if v), None)
    schema = first.schema if first else Schema(())
    if class_ is WaitFor:
        schema = pair_schema(inputs["input"].schema, inputs["signal"].schema)
    values: dict[str, Any] = {}
    for one in fields(class_):
        if one.name in item and one.init and one.name not in class_.takes:
            values[one.name] = _decode_field(str(one.type), item[one.name], schema)
    return class_(**values, **inputs)


def _decode_field(annotation: str, value: Any, schema: Schema) -> Any:
    match annotation:
        case "Expression":
            return parse_expression(value, schema)
        case "tuple[Expression, ...]":
            return tuple(parse_expression(text, schema) for text in value)
        case "Columns":
            return tuple((name, parse_expression(text, schema)) for name, text in value)
        case "Functions":
            return tuple((name, _decode_call(call, schema)) for name, call in value)
        case "Window | None" | "TimeWindow | None":
            return window_from_json(value)
        case "Schema":
            return Schema(parse_schema(value["columns"]).columns, tuple(value.get("times", {}).items()))
        case "Table":
            return Table(value["name"], parse_schema(value["schema"]), tuple(value["key"]))
        case "Band | None":
            return Band(**value)
    found = _tupled(value)
    if not _fits(annotation, found):
        raise TypeError(f"{str(value)[:60]!r} is no {annotation}")
    return found


def _fits(annotation: str, value: Any) -> bool:
    """Whether plain data is of the type that a parameter has; those that only some texts fit are checked by nodes."""
    if annotation.startswith("tuple["):
        inner = annotation.removeprefix("tuple[").removesuffix("]")
        if not isinstance(value, tuple):
            return False
        if inner.endswith(", ..."):
            return all(_fits(inner.removesuffix(", ..."), item) for item in value)
        kinds = inner.split(", ")
        return len(kinds) == len(value) and all(_fits(kind, item) for kind, item in zip(kinds, value, strict=True))
    kind: type | tuple[type, ...] = _PLAIN.get(annotation.removesuffix(" | None"), str)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _decode_call(data: Mapping[str, Any], schema: Schema) -> AggregateCall:
    user = user_aggregate(**data["user"]) if data.get("user") else None
    if user is None and data["function"] not in AGGREGATES:
        raise unknown("aggregate", data["function"], AGGREGATES)
    arguments = tuple(parse_expression(text, schema) for text in data.get("arguments", ()))
    return AggregateCall(data["function"], arguments, tuple(data.get("parameters", ())), user)


_PLAIN: dict[str, type | tuple[type, ...]] = {"int": int, "bool": bool, "float": (int, float)}


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value

"""Random well-typed graphs with much to rewrite in them: shared parts, contained filters, monotone maps, splits.

`random_graph(chance)` builds one from a `random.Random`; the same generator state gives the same graph. Whatever does
not fit together is refused by the operators themselves, and another piece is drawn.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal as Literal_

from tests.random_expressions import (
    BASE,
    SECOND,
    aggregate_functions,
    computed,
    condition,
    joined,
    key_condition,
    map_columns,
    small_columns,
)
from tradewind.algebra.expressions.tree import Call, Column, Expression, Field, Literal, columns_of
from tradewind.algebra.expressions.typing import parse_condition, resolve
from tradewind.algebra.graph import Graph
from tradewind.algebra.operators.aggregation import Aggregate, Partial
from tradewind.algebra.operators.base import Operator, walk
from tradewind.algebra.operators.core import Band, ConnectionPoint, Filter, Join, Kind, Map, Source, Top, Union
from tradewind.algebra.operators.derived import Distinct, Sample, Split, Superbox
from tradewind.algebra.operators.ordered import Order, Resample, WaitFor, pair_schema
from tradewind.algebra.operators.stored import Read, Update
from tradewind.algebra.schema import Schema, parse_schema
from tradewind.algebra.tables import Table
from tradewind.algebra.types import BIGINT, INT, TIMESTAMP, is_integer, is_numeric, is_orderable
from tradewind.algebra.windows import CountedWindow, SessionWindow, TimeWindow, ValueWindow, Window
from tradewind.errors import InputError

ORIGINS = ("ams", "nyc", "syd")
EVENTS = parse_schema("ts TIMESTAMP, k INT, a INT, x DOUBLE, s STRING", time="ts")
REFERENCES = parse_schema("at TIMESTAMP, id INT, w BIGINT, y FLOAT, name STRING", time="at")
STREAMS = {"ticks": EVENTS, "trades": EVENTS, "book": EVENTS, "refs": REFERENCES}
TABLE = Table("notes", parse_schema("id INT, n BIGINT"), ("id",))
HOWS: tuple[Kind, ...] = ("inner", "inner", "left", "right", "full")
MOST_JOINS = 2
"""More joins on the way to one node would multiply rows beyond what the interpreter should be asked."""


@dataclass
class Builder:
    """The nodes so far, from which new ones are made."""

    chance: random.Random
    pool: list[Operator] = field(default_factory=list)
    costs: dict[Operator, int] = field(default_factory=dict)
    names: int = 0

    def source(self, stream: str) -> Source:
        """A stream, sometimes with named origins."""
        origins = self.chance.choice(((), ORIGINS, ORIGINS, ORIGINS[:2]))
        late = self.chance.choice((0, 2 * SECOND))
        return Source(stream, STREAMS[stream], late, origins, revisions=stream == "book")

    def pick(self) -> Operator:
        """A node to go on from: mostly a recent one."""
        size = len(self.pool)
        place = size - 1 - min(int(self.chance.expovariate(0.4)), size - 1)
        return self.pool[place]

    def add(self, node: Operator) -> None:
        """One more node to go on from."""
        own = 1 if isinstance(node, Join) else 0
        cost = own + sum(self.costs.get(child, 0) for child in node.inputs)
        if cost <= MOST_JOINS and len(node.schema.columns) <= 16:
            self.costs[node] = cost
            self.pool.append(node)

    def fresh(self, stem: str) -> str:
        """A name that is not in use."""
        self.names += 1
        return f"{stem}{self.names}"


def random_graph(chance: random.Random) -> Graph:
    """One to three results over two to four streams."""
    builder = Builder(chance)
    streams = chance.sample(sorted(STREAMS), chance.choice((2, 2, 3, 4)))
    for stream in streams:
        builder.add(builder.source(stream))
    kinds, weights = zip(*((make, weight) for make, weight in _MAKERS), strict=True)
    wanted = len(builder.pool) + chance.choice((4, 7, 10, 14))
    for _ in range(4 * wanted):
        if len(builder.pool) >= wanted:
            break
        try:
            chance.choices(kinds, weights)[0](builder)
        except InputError:
            continue
    return _with_results(builder)


def _with_results(builder: Builder) -> Graph:
    count = builder.chance.choice((1, 1, 2, 2, 3))
    tops = [node for node in builder.pool if node.schema.columns and not isinstance(node, Partial)]
    chosen = tops[-count:] if builder.chance.random() < 0.7 else builder.chance.sample(tops, min(count, len(tops)))
    writers = [n for n in builder.pool if isinstance(n, Update)]
    if any(isinstance(node, Read) for root in chosen for node in walk(root)) and writers:
        chosen = [*chosen, writers[0]]
    return Graph(tuple((f"q{number}", node) for number, node in enumerate(dict.fromkeys(chosen), 1)))


def _filter(builder: Builder) -> None:
    node = builder.pick()
    builder.add(Filter(node, condition(node.schema, builder.chance)))


def _several_filters(builder: Builder) -> None:
    """Filters of one input for several queries, some of which contain others."""
    node = builder.pick()
    first = key_condition(node.schema, builder.chance)
    second = condition(node.schema, builder.chance)
    builder.add(Filter(node, first))
    both = joined("and", first, second)
    builder.add(Filter(node, both) if builder.chance.random() < 0.6 else Filter(node, second))


def _contained_groups(builder: Builder) -> None:
    """The same aggregate twice, once of fewer rows."""
    chance, node = builder.chance, builder.pick()
    keys = _keys(node.schema, chance, 1)
    functions = aggregate_functions(node.schema, chance)
    window = _window(node.schema, chance) if chance.random() < 0.5 else None
    builder.add(Aggregate(node, keys, functions, window))
    builder.add(Aggregate(Filter(node, key_condition(node.schema, chance, keys)), keys, functions, window))


def _map(builder: Builder) -> None:
    node = builder.pick()
    builder.add(Map(node, map_columns(node.schema, builder.chance)))


def _filtered_map(builder: Builder) -> None:
    node = builder.pick()
    mapped = Map(node, map_columns(node.schema, builder.chance))
    builder.add(Filter(mapped, condition(mapped.schema, builder.chance)))


def _bounded_map(builder: Builder) -> None:
    """A bound on a computed column."""
    node = builder.pick()
    kept = tuple((name, Column(name)) for name in node.schema.names)
    name = builder.fresh("m")
    mapped = Map(node, (*kept, (name, computed(node.schema, builder.chance))))
    builder.add(Filter(mapped, key_condition(mapped.schema, builder.chance, (name,))))


def _filtered_join(builder: Builder) -> None:
    """A join with a filter on one of its keys, above or below it."""
    before = len(builder.pool)
    _join(builder)
    if len(builder.pool) == before:
        return
    joined = builder.pool[-1]
    assert isinstance(joined, Join)
    names = tuple(name for pair in joined.keys for name in pair) or joined.schema.names
    if joined.band is not None and builder.chance.random() < 0.5:
        names = (joined.band.left, joined.band.right)
    asked = key_condition(joined.schema, builder.chance, names)
    if columns_of(asked) <= set(joined.left.schema.names) and builder.chance.random() < 0.5:
        builder.add(replace(joined, left=Filter(joined.left, asked)))
    else:
        builder.add(Filter(joined, asked))


def _reworded(builder: Builder) -> None:
    """The same thing said twice, in other words."""
    chance, node = builder.chance, builder.pick()
    alike = [other for other in builder.pool if other.schema.columns == node.schema.columns]
    members = tuple(chance.choices(alike, k=2))
    if chance.random() < 0.4:
        builder.add(Union(members))
        builder.add(Union(members[::-1]))
        return
    whole = [name for name, type_ in node.schema.columns if is_integer(type_)] or ["?"]
    name = chance.choice(whole)
    builder.add(Filter(node, parse_condition(f"{name} = 1", node.schema)))
    builder.add(Filter(node, parse_condition(chance.choice((f"{name} IN (1, 1)", f"{name} <=> 1")), node.schema)))


def _union(builder: Builder) -> None:
    node = builder.pick()
    alike = [other for other in builder.pool if other.schema.columns == node.schema.columns]
    members = builder.chance.choices(alike, k=builder.chance.choice((2, 2, 3)))
    builder.add(Union(tuple(members)))


def _disjoint_union(builder: Builder) -> None:
    """Inputs that share no key: by a bound, by a hash, or by a constant."""
    chance, node = builder.chance, builder.pick()
    alike = [other for other in builder.pool if other.schema.columns == node.schema.columns]
    key = chance.choice([name for name in small_columns(node.schema) if is_integer(node.schema.type_of(name))] or ["?"])
    tests: list[str]
    match chance.choice(("bound", "hash", "values")):
        case "bound":
            tests = [f"{key} < 1", f"{key} >= 1"]
        case "hash":
            tests = [f"pmod(xxhash64({key}), 2L) = {part}L" for part in (0, 1)]
        case _:
            tests = [f"{key} = 0", f"{key} IN (1, 2)", f"{key} = 3"]
    parts = [Filter(chance.choice(alike), parse_condition(test, node.schema)) for test in tests]
    union = Union(tuple(parts))
    functions = aggregate_functions(node.schema, chance)
    grouped = Aggregate(union, (key,), functions, _window(node.schema, chance) if chance.random() < 0.4 else None)
    builder.add(union if chance.random() < 0.3 else grouped)


def _suffixed(node: Operator, suffix: str) -> Operator:
    return Map(node, tuple((f"{name}_{suffix}", Column(name)) for name in node.schema.names))


def _join(builder: Builder) -> None:
    chance = builder.chance
    left, right = builder.pick(), builder.pick()
    clash = {name.lower() for name in left.schema.names} & {name.lower() for name in right.schema.names}
    right = _suffixed(right, builder.fresh("r")) if clash else right
    pairs = [
        (a, b)
        for a in small_columns(left.schema)
        for b in small_columns(right.schema)
        if left.schema.type_of(a) == right.schema.type_of(b) or chance.random() < 0.1
    ]
    keys = tuple(chance.sample(pairs, min(len(pairs), chance.choice((1, 1, 2)))))
    band = None
    if left.schema.time and right.schema.time and chance.random() < 0.7:
        low, high = chance.choice(((-5, 5), (0, 10), (-3, 0), (2, 8), (None, 4), (-4, None)))
        low, high = (None if bound is None else bound * SECOND for bound in (low, high))
        band = Band(left.schema.time, right.schema.time, low, high)
        keys = keys if chance.random() < 0.7 else ()
    elif chance.random() < 0.2:
        numbers = [[n for n, t in side.schema.columns if is_integer(t)] for side in (left, right)]
        band = Band(chance.choice(numbers[0]), chance.choice(numbers[1]), -1, 1) if all(numbers) else None
    how: Kind = chance.choice(HOWS)
    builder.add(Join(left, right, how, keys, band))


def _keys(schema: Schema, chance: random.Random, least: int = 0) -> tuple[str, ...]:
    small = small_columns(schema)
    count = min(len(small), chance.choice((least, 1, 1, 2)))
    return tuple(chance.sample(small, count))


def _window(schema: Schema, chance: random.Random) -> Window | None:
    time = schema.time
    integers = [name for name, type_ in schema.columns if is_integer(type_)]
    options: list[Callable[[], Window]] = []
    if time:
        options += [
            lambda: TimeWindow(time, 10 * SECOND, chance.choice((10, 5)) * SECOND, chance.choice((0, 3 * SECOND))),
            lambda: TimeWindow(time, 20 * SECOND, 20 * SECOND),
            lambda: SessionWindow(time, chance.choice((2, 5)) * SECOND),
            lambda: CountedWindow(
                time, 3, chance.choice((1, 3)), chance.choice((None, 6 * SECOND)), chance.choice((None, 2))
            ),
        ]
    if integers:
        column = chance.choice(integers)
        options.append(lambda: ValueWindow(column, 4, chance.choice((2, 4)), None, chance.choice((None, None, 1))))
        options.append(lambda: CountedWindow(column, 2, 1))
        if time:
            options.append(lambda: ValueWindow(column, 4, 4, 5 * SECOND))
    return chance.choice(options)() if options else None


def _aggregate(builder: Builder) -> None:
    chance, node = builder.chance, builder.pick()
    window = _window(node.schema, chance) if chance.random() < 0.6 else None
    keys = _keys(node.schema, chance)
    builder.add(Aggregate(node, keys, aggregate_functions(node.schema, chance), window))


def _top(builder: Builder) -> None:
    chance, node = builder.chance, builder.pick()
    numbers = [name for name, type_ in node.schema.columns if is_numeric(type_)]
    per = [name for name in (*small_columns(node.schema), "window") if name in node.schema.names]
    by = tuple(
        (name, chance.random() < 0.6) for name in chance.sample(numbers, min(len(numbers), chance.choice((1, 1, 2))))
    )
    rank = builder.fresh("place") if chance.random() < 0.4 else None
    builder.add(
        Top(
            node, chance.choice((1, 2, 3)), by, tuple(chance.sample(per, min(len(per), chance.choice((0, 1, 1))))), rank
        )
    )


def _order(builder: Builder) -> None:
    node = builder.pick()
    by = node.schema.time or builder.chance.choice([n for n, t in node.schema.columns if is_integer(t)] or ["?"])
    builder.add(Order(node, by, builder.chance.choice((0, 1, 3))))


def _resample(builder: Builder) -> None:
    chance, node = builder.chance, builder.pick()
    method: Literal_["previous", "linear"] = "linear" if chance.random() < 0.5 else "previous"
    usable = [n for n, t in node.schema.columns if t != TIMESTAMP and (method == "previous" or is_numeric(t))]
    values = tuple(chance.sample(usable, min(len(usable), chance.choice((1, 2)))))
    gap = chance.choice((None, 8 * SECOND))
    keys = tuple(name for name in _keys(node.schema, chance) if name not in values)
    if chance.random() < 0.5:
        builder.add(Resample(node, keys, values, method, every=chance.choice((4, 7)) * SECOND, max_gap=gap))
        return
    other = builder.pick()
    apart = _suffixed(other, builder.fresh("t"))
    shared = [
        key for key in keys if key in other.schema.names and other.schema.type_of(key) == node.schema.type_of(key)
    ]
    names = {f"{key}_t{builder.names}": key for key in shared}
    at = Map(apart, tuple((names.get(name, name), Column(name)) for name in apart.schema.names))
    builder.add(Resample(node, tuple(shared), values, method, at=at, max_gap=gap))


def _waitfor(builder: Builder) -> None:
    chance, node = builder.chance, builder.pick()
    signal = _suffixed(builder.pick(), builder.fresh("w"))
    pairs = [
        (a, b)
        for a in small_columns(node.schema)
        for b in small_columns(signal.schema)
        if node.schema.type_of(a) == signal.schema.type_of(b)
    ]
    a, b = chance.choice(pairs or [("?", "?")])
    predicate = resolve(Call("=", (Column(a), Column(b))), pair_schema(node.schema, signal.schema))[0]
    builder.add(WaitFor(node, signal, predicate, chance.choice((3, 8)) * SECOND))


def _stored(builder: Builder) -> None:
    """An update of a table and a read of it."""
    chance, node, other = builder.chance, builder.pick(), builder.pick()
    if any(isinstance(one, Update | Read) for one in builder.pool):
        return
    names = [[n for n, t in one.schema.columns if t == INT] for one in (node, other)]
    key, asked = chance.choice(names[0] or ["?"]), chance.choice(names[1] or ["?"])
    text = f"INSERT INTO notes (id, n) VALUES (:{key}, 1L)"
    update = Update(node, TABLE, text, tuple((n, Column(n)) for n in node.schema.names))
    read = Read(
        other, TABLE, f"SELECT n AS {builder.fresh('found')} FROM notes WHERE id = :{asked}", chance.random() < 0.5
    )
    if any(isinstance(below, Update) for below in walk(other)):
        return
    builder.add(update)
    builder.add(read)


def _connection(builder: Builder) -> None:
    builder.add(ConnectionPoint(builder.pick(), builder.fresh("point"), 60 * SECOND))


def _distinct(builder: Builder) -> None:
    node = builder.pick()
    columns = [name for name in small_columns(node.schema) if is_orderable(node.schema.type_of(name))]
    kept = builder.chance.sample(columns, min(len(columns), 2))
    builder.add(Distinct(Map(node, tuple((name, Column(name)) for name in kept))))


def _sample(builder: Builder) -> None:
    node = builder.pick()
    builder.add(Sample(node, builder.chance.choice((0.3, 0.7)), _keys(node.schema, builder.chance)))


def _split(builder: Builder) -> None:
    chance, node = builder.chance, builder.pick()
    tests: tuple[Expression, ...] = tuple(condition(node.schema, chance) for _ in range(chance.choice((1, 2))))
    routes = [Split(node, tests, route) for route in range(len(tests) + 1)]
    if chance.random() < 0.5:
        builder.add(Union(tuple(routes)))
    for route in chance.sample(routes, 2):
        builder.add(route)


def _superbox(builder: Builder) -> None:
    node = builder.pick()
    inside = Filter(node, condition(node.schema, builder.chance))
    builder.add(Superbox(inside, (node,), builder.fresh("box")))


def _late_filter(builder: Builder) -> None:
    """A filter on what an operator groups by or keeps, above whatever it is."""
    node = builder.pick()
    builder.add(Filter(node, key_condition(node.schema, builder.chance)))


def _bounded_window(builder: Builder) -> None:
    """A filter on a window's bounds."""
    chance, node = builder.chance, builder.pick()
    time = node.schema.time
    if "window" not in node.schema.names and time is not None:
        window = TimeWindow(time, 10 * SECOND, chance.choice((5, 10)) * SECOND)
        node = Aggregate(node, _keys(node.schema, chance), aggregate_functions(node.schema, chance), window)
    bound = Field(Column("window"), chance.choice(("start", "end")))
    moment = Literal(BASE + chance.choice((10, 20, 30)) * SECOND, TIMESTAMP)
    builder.add(Filter(node, resolve(Call(chance.choice(("<", ">=", "=")), (bound, moment)), node.schema)[0]))


def _counted(builder: Builder) -> None:
    """How many rows there are of each: a top of which is asked next."""
    chance, node = builder.chance, builder.pick()
    window = TimeWindow(node.schema.time or "?", 20 * SECOND, 20 * SECOND)
    grouped = Aggregate(
        node, _keys(node.schema, chance, 1), aggregate_functions(node.schema, chance, ("count",)), window
    )
    counts = [name for name, type_ in grouped.schema.columns if type_ == BIGINT]
    builder.add(grouped)
    if counts:
        builder.add(Top(grouped, 2, ((counts[0], True),), ("window",)))


_MAKERS: tuple[tuple[Callable[[Builder], None], int], ...] = (
    (_filter, 14), (_several_filters, 8), (_contained_groups, 5), (_map, 10), (_filtered_map, 8), (_bounded_map, 10),
    (_union, 10), (_disjoint_union, 7), (_join, 7), (_filtered_join, 8), (_reworded, 6), (_aggregate, 12),
    (_counted, 6), (_top, 7), (_order, 2), (_resample, 3), (_waitfor, 3),
    (_stored, 3), (_connection, 2), (_distinct, 3), (_sample, 2), (_split, 4), (_superbox, 2), (_late_filter, 12),
    (_bounded_window, 4),
)  # fmt: skip

"""The SELECT list: what each item asks, and what its column will be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from tradewind.algebra.expressions.tree import Column, Expression, Literal, children, with_children
from tradewind.algebra.types import INT
from tradewind.errors import QueryError
from tradewind.frontends.sql.environment import Environment
from tradewind.frontends.sql.ranking import is_row_number, refuse_window
from tradewind.frontends.sql.refusals import line_of, only, place, unsupported
from tradewind.frontends.sql.scope import path_of, with_fields


@dataclass(frozen=True, slots=True)
class Item:
    """One item as written: an expression, perhaps with a name; or a star, perhaps of one relation."""

    where: str
    raw: Expression
    name: str | None = None
    star: bool = False
    relation: str | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the answer. `spare` is the name it takes when another column has its name already."""

    name: str
    expression: Expression
    spare: str | None = None


def read_items(select: exp.Select, environment: Environment) -> list[Item]:
    """All items, untyped; row_number() AS rn is read as the column rn, which a top will give."""
    if not select.expressions:
        raise QueryError("SELECT names no columns.", hint="SELECT * FROM … takes them all.")
    found = []
    for number, node in enumerate(select.expressions, start=1):
        where = f"SELECT item {number}{line_of(node)}"
        with place(where):
            found.append(_item(node, where, environment))
    return found


def _item(node: exp.Expr, where: str, environment: Environment) -> Item:
    inner = node.unalias()
    name = node.alias if isinstance(node, exp.Alias) else None
    star = inner.this if isinstance(inner, exp.Column) else inner
    if isinstance(star, exp.Star):
        only(star)
        if name:
            raise QueryError("* cannot be given a name.", hint="name the columns one by one.")
        table = inner.args.get("table") if isinstance(inner, exp.Column) else None
        return Item(where, Column("*"), star=True, relation=table.name if table else None)
    if isinstance(node, exp.Aliases):
        raise unsupported("several names for one item", "give each item one name.")
    if is_row_number(inner):
        return Item(where, Column(name or "row_number"), name)
    for window in inner.find_all(exp.Window):
        refuse_window(window)
        raise unsupported(
            "row_number() inside an expression", "name it: row_number() OVER (…) AS rn, and compute outside."
        )
    return Item(where, environment.read(inner), name)


def with_names(raw: Expression, items: list[Item], is_closed: Callable[[Expression], bool]) -> Expression:
    """The expression with the names of SELECT items replaced by what they stand for, except where it is closed."""
    if is_closed(raw):
        return raw
    path = path_of(raw)
    if path is not None:
        named = next((item for item in items if item.name is not None and item.name.lower() == path[0].lower()), None)
        return raw if named is None else with_fields(named.raw, path[1:])
    return with_children(raw, tuple(with_names(part, items, is_closed) for part in children(raw)))


def by_position(raw: Expression, items: list[Item]) -> Expression:
    """The item that a plain number means; any other expression as it is."""
    if not isinstance(raw, Literal) or raw.type != INT or not isinstance(raw.value, int):
        return raw
    if not 1 <= raw.value <= len(items) or any(item.star for item in items[: raw.value]):
        raise QueryError(f"there is no SELECT item {raw.value}.", hint=f"there are {len(items)}; * cannot be counted.")
    return items[raw.value - 1].raw


def settled_names(outputs: list[Output]) -> list[tuple[str, Expression]]:
    """The columns with their final names, all different."""
    count = Counter(output.name.lower() for output in outputs)
    named = [o.spare if o.spare is not None and count[o.name.lower()] > 1 else o.name for o in outputs]
    twice = next((name for name, times in Counter(name.lower() for name in named).items() if times > 1), None)
    if twice is not None:
        shown = next(name for name in named if name.lower() == twice)
        raise QueryError(f"two SELECT items are named {shown!r}.", hint=f"name one of them: … AS {shown}_2.")
    return [(name, output.expression) for name, output in zip(named, outputs, strict=True)]

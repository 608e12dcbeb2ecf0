"""What every kind of box is: a mapping with known keys that builds an operator, and is written back from one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from tradewind.algebra.aggregates import UserAggregate
from tradewind.algebra.expressions.tree import Expression
from tradewind.algebra.expressions.typing import parse_condition, parse_expression
from tradewind.algebra.operators.base import Operator
from tradewind.algebra.schema import Schema
from tradewind.algebra.tables import Table
from tradewind.errors import InputError, InternalError, unknown
from tradewind.frontends.catalog import Catalog
from tradewind.frontends.flow.fields import Names, Strict
from tradewind.frontends.flow.findings import Misplaced

Named = Callable[[Operator], str]
"""Gives the name under which an operator can be read."""
Built = Operator | dict[str, Operator]
"""What a box builds: one operator, or one for each of its ways out."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a box finds around it: its own name, the operators that can be read, tables and aggregates."""

    name: str
    nodes: Mapping[str, Operator]
    catalog: Catalog

    @property
    def users(self) -> dict[str, UserAggregate]:
        """The user-defined aggregates by name."""
        return dict(self.catalog.aggregates)

    def table(self, name: str) -> Table:
        """A declared table."""
        with at("table"):
            found = self.catalog.table(name)
            if found is None:
                raise unknown("table", name, self.catalog.tables)
            return found


@contextmanager
def at(*path: str | int) -> Iterator[None]:
    """Whatever is refused inside is the fault of the value at this path of the box."""
    try:
        yield
    except InputError as error:
        raise Misplaced(path, error) from None


def expression(text: str, schema: Schema, *path: str | int) -> Expression:
    """An expression over the columns of `schema`, found at a path of the box."""
    with at(*path):
        return parse_expression(text, schema)


def condition(text: str, schema: Schema, *path: str | int) -> Expression:
    """An expression that is true or false, found at a path of the box."""
    with at(*path):
        return parse_condition(text, schema)


class Box(Strict):
    """One box: its kind under `box`, what it reads, and its parameters."""

    box: str
    reads: ClassVar[tuple[str, ...]] = ("input",)
    """The fields that name what the box reads."""

    def references(self) -> tuple[tuple[str, str], ...]:
        """The names that the box reads, each with the key it stands under."""
        return self.references_in({key: getattr(self, field) for field, key in self._keys()})

    @classmethod
    def references_in(cls, data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """As `references`, from the plain data of a box of this kind, which may be wrong."""
        found: list[tuple[str, str]] = []
        for _, key in cls._keys():
            value = data.get(key)
            names = value if isinstance(value, list | tuple) else (value,)
            found.extend((key, name) for name in names if isinstance(name, str))
        return tuple(found)

    @classmethod
    def _keys(cls) -> list[tuple[str, str]]:
        return [(field, cls.model_fields[field].alias or field) for field in cls.reads]

    def build(self, given: Given) -> Built:
        """The operator that the box stands for."""
        raise InternalError(
            f"{type(self).__name__} is not built as a box: the reader puts a superbox's flow in its place."
        )

    @classmethod
    def written(cls, node: Any, named: Named) -> dict[str, Any]:
        """The keys of a box that builds `node`; those that only repeat a default are left out."""
        raise InternalError(f"{cls.__name__} is not written as a box: operators know no use of a superbox.")


class OneIn(Box):
    """A box that reads one other, named under `in`."""

    input: str = Field(alias="in")


class ManyIn(Box):
    """A box that reads several others, listed under `in`."""

    reads: ClassVar[tuple[str, ...]] = ("inputs",)
    inputs: Names = Field(alias="in", min_length=1)


def without_defaults(**keys: Any) -> dict[str, Any]:
    """Only the keys that say something: not None, not empty, not False."""
    return {name: value for name, value in keys.items() if value is not None and value not in ((), [], {}, False)}

"""Which column a name means, over one relation or the join of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tradewind.algebra.expressions.tree import Column, Expression, Field, children, with_children
from tradewind.algebra.schema import Schema
from tradewind.errors import QueryError, unknown
from tradewind.frontends.sql.refusals import unknown_column

Path = tuple[str, ...]


def path_of(expression: Expression) -> Path | None:
    """The parts of a dotted name, or None when the expression is not just a name."""
    match expression:
        case Column(name=name):
            return (name,)
        case Field(of=of, name=name):
            before = path_of(of)
            return None if before is None else (*before, name)
    return None


def with_fields(expression: Expression, names: Path) -> Expression:
    """The field of the field … of an expression."""
    for name in names:
        expression = Field(expression, name)
    return expression


@dataclass(frozen=True, slots=True)
class Entry:
    """A column of a relation under its own name, and its name among all columns at hand."""

    relation: str | None
    name: str
    column: str

    @property
    def label(self) -> str:
        """As a user would write it to be sure."""
        return f"{self.relation}.{self.name}" if self.relation else self.name


@dataclass(frozen=True, slots=True)
class Scope:
    """The columns that names can mean; `merged` are those that JOIN … USING made one of two."""

    entries: tuple[Entry, ...]
    merged: tuple[tuple[str, Expression], ...] = ()
    unshown: frozenset[str] = frozenset()
    """Columns that `*` leaves out because a merged one stands for them."""

    called: tuple[tuple[str, str], ...] = ()
    """Relations that have another name here, and that name."""

    def bind(self, expression: Expression) -> Expression:
        """The expression over the columns at hand, with all qualifiers resolved."""
        path = path_of(expression)
        if path is not None:
            return self.named(path)
        return with_children(expression, tuple(self.bind(part) for part in children(expression)))

    def named(self, path: Path) -> Expression:
        """What a dotted name means: a relation's column first, then a column and its fields."""
        if len(path) > 1 and (found := self._qualified(path)) is not None:
            return found
        name = path[0].lower()
        for merged, expression in self.merged:
            if merged.lower() == name:
                return with_fields(expression, path[1:])
        matches = [e for e in self.entries if e.name.lower() == name]
        matches = matches or [e for e in self.entries if e.column.lower() == name]
        if len(matches) > 1:
            labels = [entry.label for entry in matches]
            raise QueryError(
                f"{path[0]!r} is ambiguous: it may be {' or '.join(labels)}.",
                hint="write one of these.",
                candidates=labels,
            )
        if not matches:
            raise unknown_column(path, self.labels(), self.called)
        return with_fields(Column(matches[0].column), path[1:])

    def _qualified(self, path: Path) -> Expression | None:
        own = [e for e in self.entries if e.relation is not None and e.relation.lower() == path[0].lower()]
        found = next((e for e in own if e.name.lower() == path[1].lower()), None)
        if found is not None:
            return with_fields(Column(found.column), path[2:])
        if own and not any(e.name.lower() == path[0].lower() for e in self.entries):
            raise unknown("column", ".".join(path[:2]), [entry.label for entry in own])
        return None

    def has(self, name: str) -> bool:
        """Whether an unqualified name is one of the columns."""
        return any(entry.name.lower() == name.lower() for entry in self.entries)

    def relates(self, name: str) -> bool:
        """Whether a name is one of the relations."""
        return any(entry.relation is not None and entry.relation.lower() == name.lower() for entry in self.entries)

    def labels(self) -> list[str]:
        """All columns as a user may write them: qualified only where that is needed."""
        names = [entry.name.lower() for entry in self.entries]
        return [entry.label if names.count(entry.name.lower()) > 1 else entry.name for entry in self.entries]

    def name_of(self, column: str) -> str:
        """The own name of a column at hand."""
        return next((entry.name for entry in self.entries if entry.column == column), column)

    def star(self, relation: str | None) -> list[tuple[str, Expression, str]]:
        """What `*` or `relation.*` stands for: own name, column, and the name among all columns."""
        if relation is None:
            shown = [(e.column, Column(e.column), e.column) for e in self.entries if e.column not in self.unshown]
            return [*((name, expression, name) for name, expression in self.merged), *shown]
        own = [e for e in self.entries if e.relation is not None and e.relation.lower() == relation.lower()]
        if not own:
            known = dict.fromkeys(entry.relation for entry in self.entries if entry.relation)
            raise unknown("relation", relation, list(known))
        return [(entry.name, Column(entry.column), entry.column) for entry in own]


def scope_of(schema: Schema, relation: str | None, declared: str | None = None) -> Scope:
    """The columns of one relation, which may have been declared under another name."""
    called = ((declared, relation),) if relation and declared and declared.lower() != relation.lower() else ()
    return Scope(tuple(Entry(relation, name, name) for name in schema.names), called=called)


def joined(left: Scope, right: Scope, renamed: Mapping[str, str]) -> Scope:
    """The columns of both sides; those of the right one under their new names."""
    moved = tuple(replace(entry, column=renamed.get(entry.column, entry.column)) for entry in right.entries)
    return Scope(left.entries + moved, left.merged, left.unshown, left.called + right.called)

"""What every operator is: frozen, equal by content, with a schema that was worked out when it was built."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from tradewind.algebra.schema import Schema
from tradewind.errors import InputError


@dataclass(frozen=True, eq=False)
class Operator:
    """A node of a graph. Two nodes are equal when all they say, down to their sources, is equal."""

    # Not an `ABC`: rules ask millions of times which kind a node is, and of one that takes five times as long.

    inputs: tuple[Operator, ...] = field(init=False, repr=False)
    """The nodes this one reads, in order."""
    schema: Schema = field(init=False, repr=False)
    fingerprint: str = field(init=False, repr=False)
    append_only: bool = field(init=False, repr=False)
    """Whether rows, once given out, are never taken back."""
    takes: ClassVar[tuple[str, ...]] = ("input",)
    """The names of the fields that hold this node's inputs."""
    derived: ClassVar[bool] = False
    """Whether the node only abbreviates others (see `expand`)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inputs", self._read())
        try:
            schema = self.output()
        except InputError as error:
            raise error if error.where else error.at(self.kind) from None
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "append_only", self.only_adds())
        object.__setattr__(self, "fingerprint", self._fingerprint())

    @abstractmethod
    def output(self) -> Schema:
        """The schema of the result; raises where the parameters do not fit the inputs."""

    def only_adds(self) -> bool:
        """Whether it never takes back a row that it has given out; no, unless an operator knows better."""
        return False

    def _fingerprint(self) -> str:
        # Comparing content recursively would take time exponential in the depth of a graph with shared parts.
        digest = hashlib.blake2b(self.kind.encode(), digest_size=16)
        for one in fields(self):
            if not one.init:
                continue
            value = getattr(self, one.name)
            if one.name in self.takes:
                value = value.fingerprint if isinstance(value, Operator) else value and [i.fingerprint for i in value]
            digest.update(f"|{one.name}={value!r}".encode())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operator) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def kind(self) -> str:
        """The operator's name in texts and files."""
        return type(self).__name__.lower()

    def _read(self) -> tuple[Operator, ...]:
        found: list[Operator] = []
        for name in self.takes:
            value = getattr(self, name)
            found.extend([value] if isinstance(value, Operator) else value or ())
        return tuple(found)

    def with_inputs(self, inputs: tuple[Operator, ...]) -> Self:
        """The same operator over other inputs, checked again."""
        if inputs == self.inputs:
            return self
        rest = list(inputs)
        changed: dict[str, Any] = {}
        for name in self.takes:
            value = getattr(self, name)
            if isinstance(value, Operator):
                changed[name] = rest.pop(0)
            elif value is not None:
                changed[name] = tuple(rest.pop(0) for _ in value)
        return replace(self, **changed)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.fingerprint[:6]}: {self.schema}>"


class Linear(Operator):
    """An operator that takes back only what its inputs take back."""

    def only_adds(self) -> bool:
        """If all inputs only add."""
        return all(child.append_only for child in self.inputs)


def walk(*roots: Operator) -> Iterator[Operator]:
    """Every node below the roots once, inputs before the nodes that read them."""
    seen: set[str] = set()
    stack: list[tuple[Operator, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node.fingerprint in seen:
            continue
        if ready:
            seen.add(node.fingerprint)
            yield node
            continue
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(node.inputs))

"""Values inside values: trees of texts, lists and named parts, as JSON and XML have them, as arrays and structs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tradewind.algebra.types import DataType
from tradewind.spark.sources.texts import Times, Typed, normal, typed
from tradewind.spark.types import arrow_type

Tree = Any
"""None, a text, a list of trees, or a dictionary of trees by name."""


_WHOLE = {"DATE": pa.int32(), "TIMESTAMP": pa.int64(), "INTERVAL": pa.int64()}


class FaultError(Exception):
    """Why a record, or a part of it, is bad."""


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Fields(dict[str, Tree]):
    """An object's fields, and the names that stood there twice: no matter, unless somebody asks for one of them."""

    __slots__ = ("twice",)

    def __init__(self, pairs: list[tuple[str, Tree]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = {name for name in self if names.count(name) > 1} if len(self) < len(names) else set()


def part_of(fields: Mapping[str, Tree], name: str) -> Tree:
    """The field of a name, or None."""
    if isinstance(fields, _Fields) and name in fields.twice:
        raise FaultError(f"field {name} stands there twice")
    return fields.get(name)


def read_json(line: bytes) -> Tree:
    """The tree of a JSON text, with numbers as they are written and truths as texts."""
    try:
        return json.loads(
            line.decode(), object_pairs_hook=_Fields, parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except UnicodeDecodeError:
        raise FaultError("not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise FaultError(f"broken JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise FaultError("nested too deeply") from None


def text_of(tree: Tree) -> str | None:
    """The text of a tree that is nothing but a text."""
    if tree is None:
        return None
    if isinstance(tree, bool):
        return "true" if tree else "false"
    if not isinstance(tree, str):
        raise FaultError("not a single value")
    try:
        tree.encode()
    except UnicodeEncodeError:
        raise FaultError("half a character") from None
    return str(tree)


def value_of(tree: Tree, type_: DataType, times: Times) -> Any:
    """A tree as a Python value that Arrow takes for one of the type."""
    if tree is None:
        return None
    if type_.name == "ARRAY":
        if not isinstance(tree, list):
            raise FaultError("no array")
        return [value_of(one, type_.element, times) for one in tree]
    if type_.name == "STRUCT":
        if not isinstance(tree, dict):
            raise FaultError("no object")
        return {name: value_of(part_of(tree, name), inner, times) for name, inner in type_.fields}
    array, bad = typed(pa.array([text_of(tree)], pa.string()), type_, times)
    if bad:
        raise FaultError("no such value")
    # Python's own times end with the year 9999; Arrow takes whole numbers for times as well.
    return array.cast(_WHOLE.get(type_.name, array.type))[0].as_py()


def of_trees(trees: list[Tree], type_: DataType, times: Times) -> Typed:
    """Trees as values of a type, and the places of those that are none."""
    given: list[Any] = []
    bad = []
    for place, tree in enumerate(trees):
        try:
            given.append(value_of(tree, type_, times))
        except FaultError:
            given.append(None)
            bad.append(place)
    return normalised(pa.array(given, arrow_type(type_))), bad


def of_texts(texts: pa.Array, type_: DataType, times: Times) -> Typed:
    """Texts as values of a type; those of arrays and structs are JSON."""
    if not type_.fields:
        return typed(texts, type_, times)
    trees: list[Tree] = []
    broken = []
    for place, text in enumerate(texts.cast(pa.binary()).to_pylist()):
        try:
            trees.append(None if text is None else read_json(text))
        except FaultError:
            trees.append(None)
            broken.append(place)
    array, bad = of_trees(trees, type_, times)
    return array, sorted((*broken, *bad))


def normalised(column: pa.Array) -> pa.Array:
    """A column with one zero, also inside lists and structs."""
    if not _has_fraction(column.type):
        return column
    if pa.types.is_list(column.type):
        return pa.ListArray.from_arrays(
            column.offsets, normalised(column.values), type=column.type, mask=column.is_null()
        )
    if pa.types.is_struct(column.type):
        parts = [normalised(column.field(i)) for i in range(column.type.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(column.type), mask=column.is_null())
    return normal(column)


def _has_fraction(type_: pa.DataType) -> bool:
    if pa.types.is_list(type_) or pa.types.is_struct(type_):
        return any(_has_fraction(type_.field(i).type) for i in range(type_.num_fields))
    return bool(pa.types.is_floating(type_))

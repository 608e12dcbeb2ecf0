"""Converters by name: the built-in ones, and those that installed packages offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from tradewind.algebra.schema import Schema
from tradewind.errors import InputError, unknown
from tradewind.spark.sources.converters.fixed import Fixed
from tradewind.spark.sources.converters.fixed_binary import FixedBinary
from tradewind.spark.sources.converters.key_value import KeyValue
from tradewind.spark.sources.converters.protocol import Converter

GROUP = "tradewind.converters"
"""The group of entry points under which a package offers converters."""

Maker = Callable[[Mapping[str, Any], Schema], Converter]
_OWN: dict[str, Maker] = {"fixed": Fixed, "fixed_binary": FixedBinary, "key_value": KeyValue}


def converter(name: str, options: Mapping[str, Any], schema: Schema) -> Converter:
    """The converter of a name, made for a stream's columns. Only what is installed is ever loaded."""
    offered = {one.name: one for one in entry_points(group=GROUP)}
    if name in _OWN:
        maker = _OWN[name]
    elif name in offered:
        maker = offered[name].load()
    else:
        raise unknown("converter", name, sorted({*_OWN, *offered}))
    try:
        return maker(options, schema)
    except InputError as error:
        raise error.at(f"converter {name}") from None

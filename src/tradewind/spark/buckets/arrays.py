"""Arrow columns as NumPy arrays that sort and compare as the interpreter sorts and compares values.

NULL comes first, NaN is one value and the greatest, -0.0 equals 0.0, texts go by their UTF-8 bytes, structs and arrays
part by part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Array = Any
"""An Arrow array or table; pyarrow ships no types."""

FOREVER = 2**63 - 1
"""Settle time of what can change until the end, as an integer."""
NEVER = -(2**63)


def ticks(time: float) -> int:
    """A mark as an integer: infinities are the ends of the range."""
    if math.isinf(time):
        return FOREVER if time > 0 else NEVER
    return int(time)


def column(table: Array, name: str) -> Array:
    """A column in one piece."""
    found = table.column(name)
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()


def known(array: Array) -> Flags:
    """Where an array is not NULL."""
    if not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def integers(array: Array, missing: int = 0) -> Ints:
    """Whole numbers, booleans, dates and times as 64-bit integers; NULL is `missing`."""
    kind = array.type
    if kinds.is_boolean(kind):
        array = array.cast(pa.int8())
    elif kinds.is_date32(kind):
        array = array.view(pa.int32())
    elif not kinds.is_integer(kind):
        array = array.view(pa.int64())
    if array.null_count:
        array = (array if array.type == pa.int64() else array.cast(pa.int64())).fill_null(missing)
    return np.asarray(array.to_numpy(), dtype=np.int64)


def numbers(array: Array) -> npt.NDArray[np.float64]:
    """FLOAT and DOUBLE as doubles with one zero and one NaN; NULL is zero."""
    if array.null_count:
        array = array.fill_null(0.0)
    found = array.to_numpy().astype(np.float64) + 0.0
    odd = np.isnan(found)
    if odd.any():
        found[odd] = np.nan
    return np.asarray(found)


def plain_zero(array: Array) -> Array:
    """The array with one zero and one NaN in all its parts."""
    kind = array.type
    if kinds.is_floating(kind):
        return pa.array(numbers(array), mask=~known(array)).cast(kind)
    if kinds.is_struct(kind):
        parts = [plain_zero(part) for part in array.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        starts = array.offsets.to_numpy()
        inner = plain_zero(array.values.slice(starts[0], starts[-1] - starts[0]))
        moved = pa.array(starts - starts[0], mask=np.append(~known(array), False), type=array.offsets.type)
        return type(array).from_arrays(moved, inner).cast(kind)
    return array


def sort_words(array: Array) -> list[Ints]:
    """Integers by which the array's values sort, the most significant first; rows are equal where all of them are.

    Texts and arrays are ranked within the array that is given, so only values of one array can be compared.
    """
    kind = array.type
    if kinds.is_null(kind):
        return []
    words = _words(array)
    return [known(array).astype(np.int64), *words] if array.null_count else words


def _words(array: Array) -> list[Ints]:
    kind = array.type
    if kinds.is_floating(kind):
        bits = numbers(array).view(np.int64)
        return [np.where(bits < 0, bits ^ FOREVER, bits)]
    if kinds.is_decimal(kind):
        return _decimal_words(array)
    if kinds.is_struct(kind):
        return [word for part in array.flatten() for word in sort_words(part)]
    if kinds.is_list(kind) or kinds.is_large_list(kind):
        return [_text_ranks(_list_texts(array))]
    if _is_text(kind):
        return [_text_ranks(array)]
    return [integers(array)]


def _is_text(kind: Array) -> bool:
    return bool(
        kinds.is_string(kind) or kinds.is_large_string(kind) or kinds.is_binary(kind) or kinds.is_large_binary(kind)
    )


def unscaled(array: Array) -> tuple[Ints, Ints]:
    """The two halves of each decimal's digits as one 128-bit whole number, the upper one signed; NULL is zero."""
    if not len(array):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    pairs = np.frombuffer(array.buffers()[1], dtype=np.int64).reshape(-1, 2)
    pairs = pairs[array.offset : array.offset + len(array)]
    if array.null_count:
        pairs = np.where(known(array)[:, None], pairs, 0)
    return pairs[:, 1], pairs[:, 0]


def _decimal_words(array: Array) -> list[Ints]:
    high, low = unscaled(array)
    if np.array_equal(high, low >> 63):
        return [low]
    return [high, low ^ NEVER]


def _text_ranks(array: Array) -> Ints:
    encoded = array.dictionary_encode()
    codes = integers(encoded.indices)
    words = encoded.dictionary
    ranks = np.empty(max(len(words), 1), dtype=np.int64)
    ranks[integers(pc.sort_indices(words))] = np.arange(len(words))
    return np.where(known(array), ranks[codes], 0)


def _list_texts(array: Array) -> Array:
    """Bytes that sort as the lists do: the ranks of their elements, a shorter list before what begins with it."""
    starts = array.offsets.to_numpy().astype(np.int64)
    inner = array.values.slice(starts[0], starts[-1] - starts[0])
    data = pa.py_buffer(ranks(inner, dense=True).astype(">u4").tobytes())
    places = pa.py_buffer((4 * (starts - starts[0])).astype(np.int64).tobytes())
    found = pa.Array.from_buffers(pa.large_binary(), len(array), [None, places, data])
    return pc.if_else(array.is_valid(), found, pa.scalar(b"", pa.large_binary()))


def ranks(array: Array, *, dense: bool = False) -> Ints:
    """One integer for each value, in their order; from 0 without gaps if `dense`."""
    words = sort_words(array)
    if len(words) == 1 and not dense:
        return words[0]
    if not words or not len(array):
        return np.zeros(len(array), dtype=np.int64)
    order = np.lexsort(words[::-1])
    found = np.empty(len(array), dtype=np.int64)
    found[order] = np.cumsum(differs([word[order] for word in words])) - 1
    return found


def joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Arrays one after the other, without a copy where only one of them holds anything."""
    filled = [part for part in parts if len(part)]
    return filled[0] if len(filled) == 1 else np.concatenate(parts)


def stretches(begins: Flags) -> tuple[Ints, Ints]:
    """Where stretches begin, and how long they are; the first place begins one."""
    starts = np.flatnonzero(begins)
    return starts, np.diff(np.append(starts, len(begins)))


def differs(words: list[Ints]) -> Flags:
    """Where a row differs from the one before it in any of the arrays; the first row does."""
    found = np.zeros(len(words[0]), dtype=np.bool_)
    found[:1] = True
    for word in words:
        found[1:] |= word[1:] != word[:-1]
    return found

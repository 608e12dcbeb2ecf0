"""Spark's 64-bit hash of rows (`xxhash64`), by which rows are spread: XXH64 with seed 42, chained over the values."""

from __future__ import annotations

import struct

from tradewind.algebra.types import DOUBLE, FLOAT, DataType, is_fraction
from tradewind.interpreter.comparison import group_key
from tradewind.interpreter.values import EXACT, Value

SEED = 42
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_FOUR_BYTES = ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "DATE")
_EIGHT_BYTES = ("BIGINT", "TIMESTAMP", "INTERVAL")
_COMPACT = 18  # the most digits of a decimal that Spark keeps in eight bytes


def xxhash64(types: tuple[DataType, ...], _: DataType, *values: Value) -> int:
    """The hash of values as a BIGINT. NULLs are passed over."""
    result = SEED
    for value, type_ in zip(values, types, strict=True):
        result = hash_value(value, type_, result)
    return result - (1 << 64) if result >> 63 else result


def hash_value(value: Value, type_: DataType, seed: int) -> int:
    """The hash of one value, begun with the hash of those before it; both unsigned."""
    if value is None:
        return seed
    if type_.name == "ARRAY":
        for part in value:
            seed = hash_value(part, type_.element, seed)
        return seed
    if type_.name == "STRUCT":
        for part, (_, inner) in zip(value, type_.fields, strict=True):
            seed = hash_value(part, inner, seed)
        return seed
    return xxh64(_bytes(value, type_), seed)


def _bytes(value: Value, type_: DataType) -> bytes:
    if type_.name in _FOUR_BYTES:
        return struct.pack("<i", value)
    if type_.name in _EIGHT_BYTES:
        return struct.pack("<q", value)
    if is_fraction(type_):
        return struct.pack({FLOAT: "<f", DOUBLE: "<d"}[type_], group_key(value, type_))
    if type_.name == "DECIMAL":
        precision, scale = type_.parameters
        unscaled = int(value.scaleb(scale, EXACT))
        if precision <= _COMPACT:
            return struct.pack("<q", unscaled)
        # As Java's BigInteger: the fewest bytes that hold the number and its sign.
        length = ((~unscaled if unscaled < 0 else unscaled).bit_length() + 8) // 8
        return unscaled.to_bytes(length, "big", signed=True)
    return value.encode() if isinstance(value, str) else bytes(value)


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 of bytes, unsigned.

    >>> hex(xxh64(b"", 0)), hex(xxh64(b"abc", 0))
    ('0xef46db3751d8e999', '0x44bc2cf5ad770999')
    """
    length = len(data)
    body = length - length % 32
    result = (_stripes(data[:body], seed) if body else seed + _P5) + length & _MASK
    words = body + (length - body) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[body:words]):
        result = _rotate(result ^ _mix(0, word), 27) * _P1 + _P4 & _MASK
    if length - words >= 4:
        half = int.from_bytes(data[words : words + 4], "little")
        result = _rotate(result ^ half * _P1 & _MASK, 23) * _P2 + _P3 & _MASK
        words += 4
    for byte in data[words:]:
        result = _rotate(result ^ byte * _P5 & _MASK, 11) * _P1 & _MASK
    result = (result ^ result >> 33) * _P2 & _MASK
    result = (result ^ result >> 29) * _P3 & _MASK
    return result ^ result >> 32


def _stripes(data: bytes, seed: int) -> int:
    lanes = [seed + _P1 + _P2 & _MASK, seed + _P2 & _MASK, seed, seed - _P1 & _MASK]
    for stripe in struct.iter_unpack("<4Q", data):
        lanes = [_mix(lane, word) for lane, word in zip(lanes, stripe, strict=True)]
    result = sum(_rotate(lane, turn) for lane, turn in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
    for lane in lanes:
        result = (result ^ _mix(0, lane)) * _P1 + _P4 & _MASK
    return result


def _mix(lane: int, word: int) -> int:
    return _rotate(lane + word * _P2 & _MASK, 31) * _P1 & _MASK


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _MASK

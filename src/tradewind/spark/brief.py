"""Short parts: deflated with a dictionary that knows what Arrow's heads look like.

A part of a few rows is mostly heads: the schema and the places of its buffers. They are much alike in all parts, so
that what most of them have in common lies beside this module as a dictionary, and a part says only how it differs. The
dictionary is part of the format: it is never changed, at most another one is added under another first byte. It holds
empty parts of the shapes that are met most, the likeliest last.
"""

from __future__ import annotations

import zlib
from importlib.resources import files

FIRST = b"\x01"
"""How everything begins that is packed so."""
_MOST_BYTES = 1_000_000
_FILE = "brief.dictionary"
_RAW = -15
"""No head and no checksum around the deflated bytes: messages have their own."""

_DICTIONARY = files("tradewind.spark").joinpath(_FILE).read_bytes()


def deflated(plain: bytes) -> bytes:
    """The packed form of something short."""
    packing = zlib.compressobj(9, zlib.DEFLATED, _RAW, 9, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    return FIRST + packing.compress(plain) + packing.flush()


def inflated(payload: bytes) -> bytes:
    """What was packed; `ValueError` where that was nothing of ours."""
    unpacking = zlib.decompressobj(_RAW, _DICTIONARY)
    try:
        found = unpacking.decompress(payload[len(FIRST) :], _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacking.eof or unpacking.unconsumed_tail:
        raise ValueError("it is cut off, or too long")
    return found

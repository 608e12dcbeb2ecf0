"""Sorting rows by group, order and content: numbers first, and the content only where the numbers are equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from tradewind.spark.buckets.arrays import Array, Flags, Ints, differs, sort_words, stretches

_ROOM = 2**63


def packed(major: Ints, minor: Ints) -> Ints:
    """One integer for each pair of integers, in their order; `major` is not negative."""
    if not len(major):
        return major
    low, span = _span(minor)
    most = int(major.max()) + 1
    if most * span >= _ROOM:
        values, minor = np.unique(minor, return_inverse=True)
        low, span = 0, len(values)
        if most * span >= _ROOM:
            major = np.unique(major, return_inverse=True)[1]
    return major * span + (minor - low) if most > 1 else minor - low


def _span(values: Ints) -> tuple[int, int]:
    low = int(values.min())
    return low, int(values.max()) - low + 1


def stable_order(key: Ints) -> Ints:
    """The places of the keys in their order, equal ones as they stand."""
    if not len(key):
        return np.zeros(0, dtype=np.int64)
    low, span = _span(key)
    bits = len(key).bit_length()
    if span << bits >= _ROOM:
        return np.argsort(key, kind="stable")
    # Sorting numbers that carry their place is several times faster than sorting places.
    both = (key - low) << bits
    both |= np.arange(len(key))
    both.sort()
    both &= (1 << bits) - 1
    return both


def quick_order(key: Ints) -> Ints:
    """The places of the keys in their order, equal ones anyhow."""
    if not len(key) or _span(key)[1] << len(key).bit_length() < _ROOM:
        return stable_order(key)
    return np.argsort(key)


def place_order(words: Sequence[Ints]) -> Ints:
    """The places of rows in the order of several integers, the most significant first; equal ones as they stand."""
    varying = [word for word in words if len(word) and _span(word)[1] > 1]
    if not varying:
        return np.arange(len(words[0]) if words else 0)
    key = varying[0]
    for word in varying[1:]:
        low, span = _span(key)
        key = packed(key - low if span < _ROOM else np.unique(key, return_inverse=True)[1], word)
    return stable_order(key)


def order_of(group: Ints, rank: Ints, contents: Iterable[Array]) -> tuple[Ints, Flags]:
    """The places of the rows in the order of group, rank and contents, and where a row differs from the one before.

    The contents are only looked at for rows that have group and rank in common.
    """
    key = packed(group, rank)
    order = quick_order(key)
    new = differs([key.take(order)])
    if new.all():
        return order, new
    tied = ~new
    tied[:-1] |= ~new[1:]
    places = np.flatnonzero(tied)
    members = order[places]
    run = np.repeat(*stretches(new[places]))
    classes = refined(run, members, contents)
    inside = stable_order(classes)
    order[places] = members[inside]
    new[places] = differs([classes[inside]])
    return order, new


def refined(classes: Ints, members: Ints, contents: Iterable[Array]) -> Ints:
    """Classes of rows told apart by their contents, one column after the other.

    A class is known by the number of rows that come before it, so it can be split without touching the others.
    """
    classes = classes.copy()
    active = np.arange(len(classes))
    for array in contents:
        for word in sort_words(array.take(pa.array(members[active]))):
            classes[active] = _split(classes[active], word)
        active = active[_shared(classes[active])]
        if not len(active):
            break
    return classes


def _split(classes: Ints, word: Ints) -> Ints:
    key = packed(classes, word)
    order = quick_order(key)
    before = classes[order]
    starts = np.maximum.accumulate(np.where(differs([before]), np.arange(len(order)), 0))
    inner = np.maximum.accumulate(np.where(differs([key[order]]), np.arange(len(order)), 0))
    found = np.empty_like(classes)
    found[order] = before + inner - starts
    return found


def _shared(classes: Ints) -> Flags:
    """Where a class has more than one row."""
    _, where, many = np.unique(classes, return_inverse=True, return_counts=True)
    return many[where] > 1

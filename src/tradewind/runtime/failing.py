"""Queries that fail by themselves: a stream that ends at bad records takes those along that read it, and no others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradewind.errors import BadRecordsError, InternalError


def failure(failed: Mapping[str, BadRecordsError], queries: Sequence[str]) -> BadRecordsError:
    """One error for all queries of a run that have failed, by name; it names the files, and what became of the rest.

    >>> bad = BadRecordsError("stream 's' at 'ams': it is damaged.", where="a.json", hint="mend it.")
    >>> str(failure({"top": bad}, ["top", "all"]))
    "a.json: stream 's' at 'ams': it is damaged. Failed: top. All other queries went on. Hint: mend it."
    """
    if not failed:
        raise InternalError("nothing has failed.")
    by_reason: dict[str, tuple[BadRecordsError, list[str]]] = {}
    for name, error in failed.items():
        by_reason.setdefault(str(error), (error, []))[1].append(name)
    (first, names), *others = by_reason.values()
    said = f"{first.what} Failed: {', '.join(sorted(names))}."
    for error, more in others:
        said += f" {error.where}: {error.what} Failed: {', '.join(sorted(more))}."
    if set(queries) - set(failed):
        said += " All other queries went on."
    return BadRecordsError(said, where=first.where, hint=first.hint)

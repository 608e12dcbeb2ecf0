"""Where a deployment and its data do not fit, seen before anything runs: only warnings, since data may still come."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.lacking import first_files, lacking, mistyped, not_there

_OWN = ("push", "rate")


def warnings_of(found: Deployment) -> list[str]:
    """Folders and files that are not there, and declared columns that an origin's first files do not have, or have with
    another type.
    """
    base = Path(found.name).resolve().parent
    warnings = _missing(found.streams, base)
    for name, stream in found.streams.items():
        for origin, place in _places(stream, base).items():
            warnings += [f"streams.{name}.at.{origin}: {said}" for said in _columns(stream, origin, place)]
    return warnings


def missing_places(found: Deployment) -> list[str]:
    """The folders and files of the streams that queries read which are not there."""
    read = {name: found.streams[name] for name in found.graph().sources()}
    return _missing(read, Path(found.name).resolve().parent)


def _missing(streams: Mapping[str, DeclaredStream], base: Path) -> list[str]:
    """One warning for each stream: of a deployment for other machines all its places may be missing on this one."""
    warnings = []
    for name, stream in streams.items():
        gone = {origin: place for origin, place in _places(stream, base).items() if not_there(place)}
        for origin, place in list(gone.items())[:1]:
            more = f" (nor {len(gone) - 1} other places of this stream)" if len(gone) > 1 else ""
            warnings.append(
                f"streams.{name}.at.{origin}: there is no {place} yet{more}. Hint: create it, or mend the path; a run "
                "that goes on waits for it."
            )
    return warnings


def _places(stream: DeclaredStream, base: Path) -> dict[str, Path]:
    return {
        name: (base / origin.path).absolute()
        for name, origin in stream.origins.items()
        if origin.path is not None and origin.format not in _OWN and "://" not in origin.path
    }


def _columns(stream: DeclaredStream, origin: str, place: Path) -> list[str]:
    declared = stream.origins[origin]
    try:
        options = checked(declared.format, declared.options)
        files = first_files(place)
    except (InputError, OSError):
        return []  # reading it says what is wrong
    schema, format_ = stream.source.schema, str(declared.format)
    wrong = [
        f"{file}: {what}; it cannot be read. Hint: {hint}." for file, what, hint in mistyped(files, format_, schema)
    ]
    return wrong + [
        f"no file that was looked at has column {name!r}, which is NULL then ({len(files)} looked at, such as "
        f"{files[0]}). Hint: {hint}"
        for name, hint in lacking(files, format_, options, schema)
    ]

"""Where a deployment and its data do not fit, seen before anything runs: only warnings, since data may still come."""

from __future__ import annotations

from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.lacking import first_files, lacking, not_there

_OWN = ("push", "rate")


def warnings_of(found: Deployment) -> list[str]:
    """Folders and files that are not there, and declared columns that none of an origin's first files has."""
    warnings = []
    for name, stream in found.streams.items():
        for origin, place in _places(stream, Path(found.name).resolve().parent).items():
            where = f"streams.{name}.at.{origin}"
            if not_there(place):
                warnings.append(f"{where}: {missing_place(place)}")
            else:
                warnings += [f"{where}: {said}" for said in _columns(stream, origin, place)]
    return warnings


def missing_places(found: Deployment) -> list[str]:
    """The folders and files of the streams that queries read which are not there."""
    base = Path(found.name).resolve().parent
    return [
        f"streams.{name}.at.{origin}: {missing_place(place)}"
        for name in found.graph().sources()
        for origin, place in _places(found.streams[name], base).items()
        if not_there(place)
    ]


def missing_place(place: Path) -> str:
    """That something is not there, and may still come."""
    return f"there is no {place} yet. Hint: create it, or mend the path; a run that goes on waits for it."


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
    return [
        f"no file that was looked at has column {name!r}, which is NULL then ({len(files)} looked at, such as "
        f"{files[0]}). Hint: {hint}"
        for name, hint in lacking(files, str(declared.format), options, stream.source.schema)
    ]

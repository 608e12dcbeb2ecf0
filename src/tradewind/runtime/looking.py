"""Where a deployment and its data do not fit, seen before anything runs: only warnings, since data may still come."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from tradewind.errors import InputError
from tradewind.frontends.deployment.deployment import DeclaredStream, Deployment
from tradewind.frontends.deployment.formats import checked
from tradewind.spark.sources.lacking import first_files, lacking, mistyped, not_there

_OWN = ("push", "rate")
_SECRET = re.compile(r"^\s*spark\.authenticate\.secret(\.file)?[\s=]+\S", re.MULTILINE)
"""A line of Spark's settings that holds a secret, or names its file."""


def warnings_of(found: Deployment) -> list[str]:
    """Folders and files that are not there, declared columns that an origin's first files do not have or have with
    another type, and standalone masters that nobody has to prove himself to, as far as this machine knows.
    """
    base = Path(found.name).resolve().parent
    warnings = [*_without_secret(found), *_missing(found.streams, base)]
    for name, stream in found.streams.items():
        for origin, place in _places(stream, base).items():
            warnings += [f"streams.{name}.at.{origin}: {said}" for said in _columns(stream, origin, place)]
    return warnings


def _without_secret(found: Deployment) -> list[str]:
    """The sites whose Spark is a standalone cluster, for which Spark's settings on this machine have no secret."""
    settings = Path(os.environ.get("SPARK_CONF_DIR", "")) / "spark-defaults.conf"
    try:
        known = "SPARK_CONF_DIR" in os.environ and _SECRET.search(settings.read_text(errors="replace")) is not None
    except OSError:
        known = False
    return [
        f"sites.{name}.spark: no secret is set here for {site.spark}, so whoever reaches its ports can run code there. "
        "Hint: set spark.authenticate and spark.authenticate.secret where the site's agent runs (docs/deployment.md)."
        for name, site in found.sites.items()
        if (site.spark or "").startswith("spark://") and not known
    ]


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

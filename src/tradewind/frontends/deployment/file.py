"""Opens a deployment file: the one place of the front ends that touches a disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike, fspath
from pathlib import Path

from tradewind.errors import DeploymentError, InputError, Problem
from tradewind.frontends.deployment.check import load_bytes, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.report import Report
from tradewind.frontends.deployment.yaml import MAX_BYTES, read_yaml
from tradewind.frontends.flow.findings import Finding


def deployment(path: str | PathLike[str]) -> Deployment:
    """The deployment that a YAML file declares; raises `DeploymentError` with everything that is wrong with it."""
    name = _name(path)
    return load_bytes(_read(name), name)


def deployment_with(
    path: str | PathLike[str], more: str, called: str = "queries", *, added: Sequence[str] = ()
) -> Deployment:
    """The deployment that a YAML file declares, with the queries of another text, and those that texts added before."""
    name = _name(path)
    data = _read(name)
    load_bytes(data, name)
    return load_more(data.decode("utf-8-sig"), added, more, name, called)


def placed(path: str | PathLike[str], findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """What was found about a deployment that is right in itself, with the line and column of its file."""
    name = _name(path)
    return placed_in(_read(name).decode("utf-8-sig"), name, findings)


def placed_if_there(path: str | PathLike[str], findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """The same, of a deployment that may have come from elsewhere than its file."""
    name = _name(path)
    return placed_in(_read(name).decode("utf-8-sig") if Path(name).is_file() else "", name, findings)


def placed_in(text: str, name: str, findings: Iterable[Finding]) -> tuple[Problem, ...]:
    """The same, given the text of the file. What it does not hold, such as queries asked in Python, has no line."""
    findings = list(findings)
    document = read_yaml(text) if text and findings else None
    known = document.places if document is not None else {}
    elsewhere = [
        Problem(f"{name} {'.'.join(map(str, one.path))}", one.what, one.hint)
        for one in findings
        if one.path not in known
    ]
    if document is None:
        return tuple(elsewhere)
    report = Report(name, document)
    report.add(one for one in findings if one.path in known)
    return (*sorted(report.problems, key=lambda problem: (problem.line, problem.column)), *elsewhere)


def _read(name: str) -> bytes:
    try:
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(name, f"cannot be read: {reason}.", "give the path of a YAML file.")
        raise DeploymentError(f"{name} has a problem.", problems=[problem]) from None


def _name(path: object) -> str:
    name = fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(name, str):
        given = f"{str(path)[:40]!r} ({type(path).__name__})"
        raise InputError(f"expected the path of a YAML file, not {given}.", where="deployment")
    return name

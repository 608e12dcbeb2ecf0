"""Opens a deployment file: the one place of the front ends that touches a disk."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from tradewind.errors import DeploymentError, InputError, Problem
from tradewind.frontends.deployment.check import load_bytes
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.yaml import MAX_BYTES


def deployment(path: str | PathLike[str]) -> Deployment:
    """The deployment that a YAML file declares; raises `DeploymentError` with everything that is wrong with it."""
    name = _name(path)
    try:
        with Path(name).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(name, f"cannot be read: {reason}.", "give the path of a YAML file.")
        raise DeploymentError(f"{name} has a problem.", problems=[problem]) from None
    return load_bytes(data, name)


def _name(path: object) -> str:
    name = fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(name, str):
        given = f"{str(path)[:40]!r} ({type(path).__name__})"
        raise InputError(f"expected the path of a YAML file, not {given}.", where="deployment")
    return name

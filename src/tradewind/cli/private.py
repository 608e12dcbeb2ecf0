"""Files that only their owner may read."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a text where nobody else can read it."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def secret(path: Path) -> str:
    """What those who ask must know; made once."""
    if not path.exists():
        write(path, secrets.token_urlsafe(32))
    return path.read_text()

"""What a nats-server of ours is told: its configuration, and the few files by which a later run finds it again."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

_HOST = "127.0.0.1"
_USER = "tradewind"
# Streams reserve what they may hold. Without a limit of the user's, only the disk itself is one.
_NO_LIMIT = 1 << 50
_MESSAGE = 8 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one server, which live in its folder."""

    folder: Path
    port: int
    secret: str
    max_bytes: int | None

    @property
    def url(self) -> str:
        """Where clients connect, with credentials."""
        return f"nats://{_USER}:{quote(self.secret)}@{_HOST}:{self.port}"

    @property
    def name(self) -> str:
        """How the server calls itself, so that it can be told from another at the same port."""
        return f"tradewind-{self.secret[:12]}"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return config_file(self.folder)

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "nats.log"

    def write(self) -> None:
        """Writes the files; only their owner may read them."""
        _written(self.folder / "port", str(self.port))
        _written(
            self.config,
            "\n".join(
                (
                    f"server_name: {json.dumps(self.name)}",
                    f"listen: {json.dumps(f'{_HOST}:{self.port}')}",
                    f"authorization {{ user: {_USER}, password: {json.dumps(self.secret)} }}",
                    f"max_payload: {_MESSAGE}",
                    f"pid_file: {_quoted(pid_file(self.folder))}",
                    "jetstream {",
                    f"  store_dir: {_quoted(self.folder / 'store')}",
                    f"  max_file_store: {_NO_LIMIT if self.max_bytes is None else self.max_bytes}",
                    "  max_memory_store: 64MB",
                    # Without this an acknowledged message can be lost when the power goes.
                    '  sync_interval: "always"',
                    "}",
                    "",
                )
            ),
        )

    def answers(self) -> bool:
        """Whether the server listens, and it is this one and not another at its port."""
        try:
            with socket.create_connection((_HOST, self.port), timeout=1.0) as connection:
                said = connection.makefile("rb").readline()
            return bool(json.loads(said.removeprefix(b"INFO "))["server_name"] == self.name)
        except (OSError, ValueError, KeyError, TypeError):
            return False


def config_file(folder: Path) -> Path:
    """The configuration of a server in a folder."""
    return folder / "nats.conf"


def pid_file(folder: Path) -> Path:
    """Where the server in a folder writes its process id."""
    return folder / "nats.pid"


def settings(folder: Path, port: int | None, max_bytes: int | None) -> Settings:
    """The settings of a server in a folder: the secret and, unless a port is given, the port of the last run there."""
    secret = _read(folder / "secret")
    if secret is None:
        secret = secrets.token_hex(24)
        _written(folder / "secret", secret)
    if port is None:
        remembered = _read(folder / "port")
        port = int(remembered) if remembered and remembered.isdigit() and is_free(int(remembered)) else free_port()
    return Settings(folder, port, secret, max_bytes)


def former(folder: Path) -> Settings | None:
    """The settings of the last server in a folder."""
    secret, port = _read(folder / "secret"), _read(folder / "port")
    return Settings(folder, int(port), secret, None) if secret and port and port.isdigit() else None


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        return int(listener.getsockname()[1])


def is_free(port: int) -> bool:
    """Whether a server could listen at a port."""
    with socket.socket() as listener:
        # As the server does: connections of a former server that are about to end do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port))
        except (OSError, OverflowError):
            return False
    return True


def _quoted(path: Path) -> str:
    return json.dumps(str(path), ensure_ascii=False)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None


def _written(path: Path, text: str) -> None:
    """Replaces a file at once, so that none is ever half written."""
    fresh = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)

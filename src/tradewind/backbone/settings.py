"""What a nats-server of ours is told: its configuration, and the few files by which a later run finds it again."""

from __future__ import annotations

import errno
import json
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from tradewind.backbone.leaf import Leaf, Neighbour, derived, link_password, quoted, user
from tradewind.backbone.names import token
from tradewind.errors import unknown

__all__ = [
    "Leaf",
    "Neighbour",
    "Settings",
    "config_file",
    "former",
    "free_port",
    "in_the_way",
    "is_free",
    "pid_file",
    "settings",
]

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
    leaf: Leaf | None = None

    @property
    def listens_at(self) -> str:
        """The address that clients are awaited at."""
        return _HOST

    @property
    def host(self) -> str:
        """Where clients on this machine find it."""
        return _HOST

    @property
    def url(self) -> str:
        """Where clients connect, with credentials."""
        return f"nats://{_USER}:{quote(self.secret)}@{_HOST}:{self.port}"

    @property
    def name(self) -> str:
        """How the server calls itself, so that it can be told from another at the same port."""
        return f"tradewind-{derived(self.secret, 'name')[:12]}"

    @property
    def config(self) -> Path:
        """The configuration file."""
        return config_file(self.folder)

    @property
    def log(self) -> Path:
        """What the server says."""
        return self.folder / "nats.log"

    def link_url(self, site: str) -> str:
        """Where clients connect to speak with a neighbour, with credentials."""
        neighbours = {one.site: one for one in self.leaf.neighbours} if self.leaf is not None else {}
        if site not in neighbours:
            raise unknown("neighbour", site, neighbours)
        one = neighbours[site]
        return f"nats://{one.user}:{link_password(self.secret, one)}@{_HOST}:{self.port}"

    def door(self) -> list[str]:
        """The part of the configuration that says where to listen, and who is let in."""
        listen = f"listen: {json.dumps(f'{_HOST}:{self.port}')}"
        if self.leaf is not None:
            return [listen, *self.leaf.lines(self.secret)]
        return [listen, f"authorization {user(_USER, self.secret)}"]

    def text(self) -> str:
        """The configuration."""
        domain = [] if self.leaf is None else [f"  domain: {json.dumps(token(self.leaf.domain))}"]
        lines = (
            f"server_name: {json.dumps(self.name)}",
            *self.door(),
            f"max_payload: {_MESSAGE}",
            f"pid_file: {quoted(pid_file(self.folder))}",
            "jetstream {",
            *domain,
            f"  store_dir: {quoted(self.folder / 'store')}",
            f"  max_file_store: {_NO_LIMIT if self.max_bytes is None else self.max_bytes}",
            "  max_memory_store: 64MB",
            # Without this an acknowledged message can be lost when the power goes.
            '  sync_interval: "always"',
            "}",
            "",
        )
        return "\n".join(lines)

    def write(self) -> None:
        """Writes the files; only their owner may read them."""
        _written(self.folder / "port", str(self.port))
        _written(self.config, self.text())

    def answers(self) -> bool:
        """Whether the server listens, and it is this one and not another at its port."""
        try:
            with socket.create_connection((self.host, self.port), timeout=1.0) as connection:
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


def settings(folder: Path, port: int | None, max_bytes: int | None, leaf: Leaf | None = None) -> Settings:
    """The settings of a server in a folder: the secret and, unless a port is given, the port of the last run there."""
    return Settings(folder, port_of(folder) if port is None else port, secret_of(folder), max_bytes, leaf)


def port_of(folder: Path, host: str = _HOST) -> int:
    """The port of the last server in a folder, or another one if that is not free."""
    remembered = _read(folder / "port")
    return int(remembered) if remembered and remembered.isdigit() and is_free(int(remembered), host) else free_port()


def secret_of(folder: Path) -> str:
    """The secret of a server in a folder, made when it is not there."""
    secret = _read(folder / "secret")
    if secret is None:
        secret = secrets.token_hex(24)
        _written(folder / "secret", secret)
    return secret


def former(folder: Path) -> Settings | None:
    """The settings of the last server in a folder."""
    secret, port = _read(folder / "secret"), _read(folder / "port")
    return Settings(folder, int(port), secret, None) if secret and port and port.isdigit() else None


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.socket() as listener:
        listener.bind((_HOST, 0))
        return int(listener.getsockname()[1])


def is_free(port: int, host: str = _HOST) -> bool:
    """Whether a server could listen at a port."""
    return in_the_way(port, host) is None


def in_the_way(port: int, host: str = _HOST) -> str | None:
    """Why a server could not listen at a port of an address; None if it could."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        # As the server does: connections of a former server that are about to end do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"port {port} is in use."
            return f"{host}, port {port}: {error.strerror or error}."
        except OverflowError:
            return f"{port} is not a port."
    return None


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

"""Talking to a coordinator from another process: by HTTPS, with the secret and the certificate in its folder."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tradewind.errors import DeploymentError, InputError, Problem, RunError, TradewindError, UnknownNameError
from tradewind.trust.names import COORDINATOR

_FILE = "client.json"
_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class Contact:
    """Where a coordinator is, what it is asked with, and how it is known."""

    url: str
    secret: str = field(repr=False)
    ca: str = field(repr=False)

    def save(self, folder: Path) -> Path:
        """Write it down for those who may read the folder's secrets."""
        path = folder / _FILE
        fresh = path.with_suffix(".new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"url": self.url, "secret": self.secret, "ca": self.ca}, file)
        fresh.replace(path)
        return path

    @staticmethod
    def load(place: Path) -> Contact:
        """From a coordinator's folder, or from a copy of the file in it."""
        path = place / _FILE if place.is_dir() else place
        try:
            data = json.loads(path.read_text())
            return Contact(data["url"], data["secret"], data["ca"])
        except OSError:
            raise InputError(
                "no coordinator is known there.", where=str(path), hint="tradewind serve FILE, or --at FOLDER."
            ) from None
        except (ValueError, KeyError, TypeError):
            raise InputError("this is no contact to a coordinator.", where=str(path)) from None


class Client:
    """Asks a coordinator; what it refuses is raised as it would be here."""

    def __init__(self, contact: Contact) -> None:
        self._contact = contact
        self._parts = urlsplit(contact.url)
        self._context = ssl.create_default_context(cadata=contact.ca)

    def get(self, path: str) -> Any:
        """The answer to a question."""
        return self._asked("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer to an order."""
        return self._asked("POST", path, body)

    def delete(self, path: str) -> Any:
        """The answer to an order to remove something."""
        return self._asked("DELETE", path, None)

    def events(self) -> Generator[dict[str, Any], None, None]:
        """How everything is, again and again as it changes."""
        connection = self._reached()
        try:
            connection.request("GET", "/v1/events", headers=self._headers())
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise self._refusal(answer.status, answer.read())
            kind = b""
            for line in answer:
                if line.startswith(b"event:"):
                    kind = line.removeprefix(b"event:").strip()
                elif line.startswith(b"data:") and kind == b"status":
                    yield json.loads(line.removeprefix(b"data:"))
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from None
        finally:
            connection.close()

    def _asked(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        connection = self._reached()
        try:
            headers = self._headers()
            data = None
            if body is not None:
                data = json.dumps(body).encode()
                headers["Content-Type"] = "application/json"
            connection.request(method, path, body=data, headers=headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from None
        finally:
            connection.close()
        if answer.status >= http.client.BAD_REQUEST:
            raise self._refusal(answer.status, said)
        return json.loads(said) if said else None

    def _connection(self) -> http.client.HTTPConnection:
        return called((self._parts.hostname or "", self._parts.port or 443), self._context, _WAIT)

    def _reached(self) -> http.client.HTTPConnection:
        try:
            return self._connection()
        except OSError as error:
            raise self._away(error) from None

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._contact.secret}"}

    def _away(self, error: BaseException) -> TradewindError:
        if isinstance(error, ssl.SSLCertVerificationError):
            what, hint = "this is not the coordinator that is known.", "is another one there now, under its address?"
        elif isinstance(error, socket.timeout):
            what, hint = "the coordinator does not answer in time.", "try again."
        else:
            what, hint = f"the coordinator cannot be reached: {error}.", "does `tradewind serve` run?"
        return RunError(what, where=self._contact.url, hint=hint)

    def _refusal(self, status: int, said: bytes) -> TradewindError:
        try:
            data = json.loads(said)
        except ValueError:
            data = {}
        if "problems" in data:
            problems = [Problem(one["where"], one["what"], one.get("hint")) for one in data["problems"]]
            return DeploymentError("the deployment has problems.", problems=problems)
        what = str(data.get("what") or f"the coordinator answered {status}.")
        where, hint = data.get("where"), data.get("hint")
        if status == http.client.NOT_FOUND:
            return UnknownNameError(what, where=where, hint=hint)
        kind = InputError if status < http.client.CONFLICT else RunError
        return kind(what, where=where, hint=hint)


def called(address: tuple[str, int], context: ssl.SSLContext, wait: float) -> http.client.HTTPConnection:
    """A connection to a coordinator, which is known by its own name and not by that of its host."""
    plain = socket.create_connection(address, timeout=wait)
    try:
        secured = context.wrap_socket(plain, server_hostname=COORDINATOR)
    except BaseException:
        plain.close()
        raise
    connection = http.client.HTTPConnection(*address, timeout=wait)
    connection.sock = secured
    return connection

"""How a site joins: it proves itself by a token, once, and gets a certificate that it uses from then on.

The token names the hash of the coordinator's authority, so that the site knows whom to believe before it says anything;
the key of its certificate is made here and never leaves.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tradewind.errors import InputError, RunError
from tradewind.runtime.cluster.client import called
from tradewind.trust.errors import TrustError
from tradewind.trust.identity import Identity
from tradewind.trust.tls import joining
from tradewind.trust.tokens import parse

DEFAULT_PORT = 7470
_WAIT = 30.0
_FILE = "coordinator.json"
_TOKEN = "tw1."  # noqa: S105 - how a token begins


@dataclass(frozen=True, slots=True)
class Membership:
    """A site's identity, where its coordinator's backbone is (`host:port`), and the hash of the token that it cost."""

    identity: Identity
    coordinator: str
    token: str = ""

    def came_by(self, text: str) -> bool:
        """Whether it was got by this `TOKEN@HOST`, or by a file that is not there any more: nothing is to be done. By
        another token a site that was shut out comes back.
        """
        given = text.rpartition("@")[0]
        try:
            return not self.token or _hashed(_token(given)) == self.token
        except InputError:
            return True


def membership(folder: Path) -> Membership | None:
    """The membership that a folder holds."""
    identity, path = Identity.load(folder), folder / _FILE
    if identity is None or not path.exists():
        return None
    known = json.loads(path.read_text())
    return Membership(identity, str(known["coordinator"]), str(known.get("token", "")))


def join(text: str, site: str, folder: Path) -> Membership:
    """Join by `TOKEN@HOST[:PORT]`; TOKEN may be the path of a file that holds it."""
    given, _, address = text.rpartition("@")
    if not given or not address:
        raise InputError("--join wants TOKEN@HOST.", hint="tradewind token SITE prints a token.")
    token_text = _token(given)
    token = parse(token_text)
    if token.site != site:
        raise InputError(f"the token is for site {token.site!r}, not for {site!r}.", hint="ask for another one.")
    place = _address(address)
    ca = _authority(place)
    context = joining(ca, token.fingerprint)
    _, request = Identity.requested(folder, site)
    answer = _joined(place, context, {"token": token_text, "csr": request.decode()})
    identity = Identity.received(folder, site, answer["certificate"].encode(), ca, answer["verifying_key"])
    coordinator = f"{place[0]}:{int(answer['port'])}"
    made = Membership(identity, coordinator, _hashed(token_text))
    (folder / _FILE).write_text(json.dumps({"coordinator": made.coordinator, "token": made.token}))
    return made


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def missing_file(text: str) -> Path | None:
    """The file that holds the token of a `TOKEN@HOST`, if it is named by a path and is not there yet."""
    given = text.rpartition("@")[0]
    if given.startswith(_TOKEN) or os.sep not in given:
        return None
    path = Path(given)
    return None if path.exists() else path


def _token(given: str) -> str:
    if given.startswith(_TOKEN):
        return given
    try:
        return Path(given).read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(
            "--join names neither a token nor a file that holds one.", hint="tradewind token SITE prints one."
        ) from None


def _address(text: str) -> tuple[str, int]:
    host, separator, port = text.rpartition(":")
    if not separator:
        return text, DEFAULT_PORT
    if not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise InputError(f"{text!r} is no address.", where="--join", hint="host, or host:port.")
    return host.strip("[]"), int(port)


def _authority(address: tuple[str, int]) -> bytes:
    """The certificate of the authority, from whoever is there: it is for the caller to see whether it is the right one.

    Nobody is known yet, so nothing is checked here, and nothing is said.
    """
    anyone = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    status, found = _asked(address, "/v1/ca", anyone)
    if status != http.client.OK:
        raise RunError("this is no coordinator.", where=_written(address))
    return found


def _joined(address: tuple[str, int], context: ssl.SSLContext, body: dict[str, str]) -> dict[str, Any]:
    status, said = _asked(address, "/v1/join", context, body)
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        raise RunError("this is no coordinator.", where=_written(address)) from None
    if status != http.client.OK:
        raise TrustError(str(found.get("what", "it refused.")), where=_written(address), hint=found.get("hint"))
    return found


def _asked(
    address: tuple[str, int], path: str, context: ssl.SSLContext, body: dict[str, str] | None = None
) -> tuple[int, bytes]:
    try:
        connection = called(address, context, _WAIT)
        try:
            data = None if body is None else json.dumps(body)
            method = "GET" if body is None else "POST"
            connection.request(method, path, body=data, headers={"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read(1 << 20)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        raise RunError(
            f"the coordinator cannot be reached: {error}.",
            where=_written(address),
            hint="does `tradewind serve` run there?",
        ) from None


def _written(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"

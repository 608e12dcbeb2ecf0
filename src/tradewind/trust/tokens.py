"""One-time tokens: by one, a site may join once, until a time, the coordinator whose authority it names."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tradewind.trust.errors import TrustError
from tradewind.trust.keeping import damaged, keep_json, kept_json, locked
from tradewind.trust.names import host, principal

_FILE = "tokens.json"
_MARK = "tw1."
_LONGEST = 4_096
_LONGEST_LIFE = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Token:
    """What a token says: the site it is for, and the hash of the authority that the site is to believe."""

    site: str
    secret: str = field(repr=False)
    fingerprint: str

    @property
    def text(self) -> str:
        """The token as it is handed over."""
        said = json.dumps({"s": self.site, "k": self.secret, "f": self.fingerprint}, separators=(",", ":"))
        return _MARK + base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Admission:
    """What a token was good for: the site that may join, and the names and addresses that others may dial it under."""

    site: str
    hosts: tuple[str, ...] = ()


class Tokens:
    """The tokens that an authority has issued and that nobody has used yet. Of a secret only the hash is kept."""

    def __init__(
        self,
        folder: Path,
        fingerprint: str,
        clock: Callable[[], float] = time.time,  # noqa: TID251  people's time
    ) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self._clock = clock

    def __repr__(self) -> str:
        return f"Tokens({str(self._folder)!r})"

    def issue(self, site: str, seconds: float = 3600, hosts: Sequence[str] = ()) -> str:
        """A new token for a site; it is good once, for so many seconds. The hosts are decided on here, by whoever lets
        the site in: a site that chose them itself could pass for another.
        """
        principal(site)
        for one in hosts:
            host(one)
        if not 0 < seconds <= _LONGEST_LIFE:
            raise TrustError(
                "a token is good for more than 0 seconds and at most 30 days.",
                where=f"token for {site!r}",
                hint="an hour is usual.",
            )
        token = Token(site, secrets.token_urlsafe(32), self._fingerprint)
        if len(token.text) > _LONGEST:
            raise TrustError("the name of the site is too long.", where="token", hint="for example: eu-dc.")
        with locked(self._folder, "tokens"):
            now = self._clock()
            self._keep([*self._living(now), _record(token, now + seconds, hosts)])
        return token.text

    def redeem(self, text: str) -> Admission:
        """Uses a token up, and tells which site may join. Whatever is wrong with it, the error is the same: who
        guesses learns nothing.
        """
        token = parse(text)
        hashed = _hash(token)
        with locked(self._folder, "tokens"):
            kept = self._all()
            living = self._living(self._clock())
            used = [one for one in living if hmac.compare_digest(one["hash"], hashed) and one["site"] == token.site]
            good = bool(used) and token.fingerprint == self._fingerprint
            left = [one for one in living if one not in used] if good else living
            if left != kept:
                self._keep(left)
        if not good:
            raise _invalid()
        return Admission(token.site, tuple(used[0].get("hosts", ())))

    def pending(self) -> list[tuple[str, float]]:
        """The sites that may still join, and until when."""
        return sorted((one["site"], one["expires"]) for one in self._living(self._clock()))

    def _living(self, now: float) -> list[dict[str, Any]]:
        return [one for one in self._all() if one["expires"] > now]

    def _all(self) -> list[dict[str, Any]]:
        document = kept_json(self._folder / _FILE)
        if document is None:
            return []
        found = document.get("tokens")
        if not isinstance(found, list) or not all(map(_is_record, found)):
            raise damaged(self._folder / _FILE)
        return found

    def _keep(self, left: list[dict[str, Any]]) -> None:
        keep_json(self._folder / _FILE, {"tokens": left})


def parse(text: str) -> Token:
    """What a token says; a site learns from it who it is and whom to believe, before it shows it to anybody."""
    if len(text) > _LONGEST or not text.startswith(_MARK):
        raise _invalid()
    body = text.removeprefix(_MARK)
    try:
        said = json.loads(base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        raise _invalid() from None
    if not isinstance(said, dict):
        raise _invalid()
    token = Token(said.get("s", ""), said.get("k", ""), said.get("f", ""))
    # There is one way to write a token: one that was changed anywhere, be it without effect, is another.
    if not all(isinstance(part, str) and part for part in said.values()) or token.text != text:
        raise _invalid()
    return token


def _hash(token: Token) -> str:
    return hashlib.sha256(token.secret.encode(errors="surrogatepass")).hexdigest()


def _record(token: Token, expires: float, hosts: Sequence[str]) -> dict[str, Any]:
    return {"hash": _hash(token), "site": token.site, "expires": expires, "hosts": list(hosts)}


def _is_record(one: object) -> bool:
    kinds = {"hash": str, "site": str, "expires": int | float}
    return isinstance(one, dict) and all(isinstance(one.get(key), kind) for key, kind in kinds.items())


def _invalid() -> TrustError:
    return TrustError("this token is not valid.", hint="ask for a new one: tradewind token SITE.")

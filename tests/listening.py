"""The ports that processes listen at, as `ss` of iproute2 tells them."""

from __future__ import annotations

import ipaddress
import re
import shutil
import subprocess
from collections.abc import Collection

import pytest

_LINE = re.compile(r"^LISTEN\s+\d+\s+\d+\s+(?P<address>\S+):(?P<port>\d+)\s", re.MULTILINE)


def public(pids: Collection[int]) -> list[str]:
    """Where some processes listen for other machines, as `address:port`; skips a test where `ss` is missing."""
    if shutil.which("ss") is None:
        pytest.skip("there is no `ss` (iproute2) to ask who listens")
    told = subprocess.run(["ss", "-H", "-ltnp"], capture_output=True, text=True, check=True, timeout=60).stdout
    own = [line for line in told.splitlines() if {int(one) for one in re.findall(r"pid=(\d+)", line)} & {*pids}]
    return [place for line in own for place in in_public(line)]


def in_public(line: str) -> list[str]:
    """The address of a line of `ss`, unless only this machine reaches it.

    >>> in_public('LISTEN 0 50 [::ffff:127.0.0.1]:4040 *:* users:(("java",pid=7,fd=3))')
    []
    >>> in_public("LISTEN 0 50 *:4040 *:*"), in_public("LISTEN 0 50 10.0.0.7%eth0:4040 0.0.0.0:*")
    (['*:4040'], ['10.0.0.7:4040'])
    """
    found = _LINE.match(line)
    if found is None:
        return []
    text = found["address"].strip("[]").partition("%")[0]
    address = None if text == "*" else ipaddress.ip_address(text)
    plain = getattr(address, "ipv4_mapped", None) or address
    return [] if plain is not None and plain.is_loopback else [f"{text}:{found['port']}"]

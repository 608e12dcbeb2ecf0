"""The network between the processes of a test bed: each link can be cut, both ways or one, slowed down and healed.

As root, sites live in network namespaces that are joined by virtual cables, one for each link. Otherwise they are ports
of this machine, and what one site sends to another passes through this process.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from tests.faults.cables import Cables

COORDINATOR = "coordinator"
Link = tuple[str, str]
_NOTHING = ("rate", "1kbit", "burst", "10", "limit", "10")
"""A bucket smaller than any packet: all are dropped, and nobody is told."""


_COUNTED = count()
"""Networks of this process have names of their own: what is left of the last one may not be gone yet."""


class Network(Protocol):
    """Where sites are, and the links between them."""

    def address(self, site: str) -> str:
        """The address at which a site, or the coordinator, is."""

    def words(self, site: str) -> list[str]:
        """What a command at a site begins with."""

    def listening(self, site: str) -> list[str]:
        """The options by which an agent says where it is dialled."""

    def has(self, link: Link) -> bool:
        """Whether it can be disturbed."""

    def cut(self, link: Link, *, both: bool = True) -> None:
        """Nothing passes, at least from the first to the second; nobody is told."""

    def slow(self, link: Link, kbit: int) -> None:
        """Not more than so much a second passes, either way."""

    def heal(self, link: Link) -> None:
        """It is as it was."""

    def close(self) -> None:
        """Nothing of it is left."""

    @contextmanager
    def inside(self, site: str) -> Iterator[None]:
        """Sockets that are opened meanwhile by this thread, and by those that it starts, are at the site."""


def network(sites: Sequence[str], links: Sequence[Link]) -> Network:
    """Namespaces where they can be had, unless TRADEWIND_FAULTS says loopback."""
    return Cables(sites, links) if why_not() else Namespaces(sites, links)


def why_not() -> str | None:
    """Why sites cannot have namespaces; None if they can."""
    if os.environ.get("TRADEWIND_FAULTS") == "loopback":
        return "TRADEWIND_FAULTS=loopback"
    if os.geteuid() != 0:
        return "network namespaces need root"
    missing = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} missing (Debian: iproute2)"
    return None if _tried() else "this kernel has no network namespaces, veth or tbf"


def _tried() -> bool:
    """Whether the kernel has all that it takes."""
    name = f"twf{os.getpid()}x-try"
    try:
        do("ip", "netns", "add", name)
        do("ip", "-n", name, "link", "add", "near", "type", "veth", "peer", "name", "far")
        do("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "near", "root", "tbf", *_NOTHING)
    except subprocess.CalledProcessError:
        return False
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return True


def do(*words: str) -> str:
    """What a command of the system says; if it fails, its reason is told, too."""
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True, timeout=20).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(f"it said: {error.stderr.strip()}")
        raise


@dataclass
class Namespaces:
    """A namespace for each site; the coordinator stays where we are, joined to each of them."""

    sites: Sequence[str]
    links: Sequence[Link]
    _ends: dict[tuple[str, str], str] = field(default_factory=dict)
    """The name of a cable's end, by where it is and where it leads."""

    def __post_init__(self) -> None:
        _sweep()
        self._mark = f"twf{os.getpid()}x{next(_COUNTED)}"
        self._net = _unused()
        atexit.register(self.close)
        for site in self.sites:
            do("ip", "netns", "add", self._space(site))
            self._ip(site, "link", "set", "lo", "up")
            self._ip(site, "addr", "add", f"{self.address(site)}/32", "dev", "lo")
        pairs = [*self.links, *((site, COORDINATOR) for site in self.sites)]
        for number, (one, two) in enumerate(pairs):
            self._lay(number, one, two)

    def _lay(self, number: int, one: str, two: str) -> None:
        """A cable with fixed neighbours at both ends, so that nothing is asked over a way that is cut."""
        names = {one: f"{self._mark}a{number}", two: f"{self._mark}b{number}"}
        hardware = {one: f"02:74:77:{self._net:02x}:{number:02x}:01", two: f"02:74:77:{self._net:02x}:{number:02x}:02"}
        do("ip", "link", "add", names[one], "type", "veth", "peer", "name", names[two])
        for near, far in ((one, two), (two, one)):
            name = self._ends[near, far] = names[near]
            if near != COORDINATOR:
                do("ip", "link", "set", name, "netns", self._space(near))
            else:
                do("ip", "addr", "add", f"{self.address(near)}/32", "dev", name)
            self._ip(near, "link", "set", name, "address", hardware[near], "up")
            self._ip(near, "neigh", "add", self.address(far), "lladdr", hardware[far], "dev", name, "nud", "permanent")
            self._ip(near, "route", "add", f"{self.address(far)}/32", "dev", name, "src", self.address(near))

    def address(self, site: str) -> str:
        last = 254 if site == COORDINATOR else list(self.sites).index(site) + 1
        return f"10.200.{self._net}.{last}"

    def words(self, site: str) -> list[str]:
        return [] if site == COORDINATOR else ["ip", "netns", "exec", self._space(site)]

    def listening(self, site: str) -> list[str]:
        return ["--listen", f"{self.address(site)}:7422"]

    def has(self, link: Link) -> bool:
        return link in self._ends

    def cut(self, link: Link, *, both: bool = True) -> None:
        for near, far in (link, link[::-1]) if both else (link,):
            self._tc(near, "replace", self._ends[near, far], "root", "tbf", *_NOTHING)

    def slow(self, link: Link, kbit: int) -> None:
        for near, far in (link, link[::-1]):
            shape = ("rate", f"{kbit}kbit", "burst", "8kb", "latency", "500ms")
            self._tc(near, "replace", self._ends[near, far], "root", "tbf", *shape)

    def heal(self, link: Link) -> None:
        for near, far in (link, link[::-1]):
            with suppress(subprocess.CalledProcessError):  # nothing was wrong with it
                self._tc(near, "del", self._ends[near, far], "root")

    @contextmanager
    def inside(self, site: str) -> Iterator[None]:
        if site == COORDINATOR:
            yield
            return
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        other = os.open(f"/run/netns/{self._space(site)}", os.O_RDONLY)
        try:
            _enter(other)
            yield
        finally:
            _enter(own)
            os.close(own)
            os.close(other)

    def close(self) -> None:
        """Cables would end with the namespaces that they lead into, but only when the kernel gets round to it."""
        for (near, _), name in self._ends.items():
            if near == COORDINATOR:
                subprocess.run(["ip", "link", "del", name], capture_output=True, check=False)
        for site in self.sites:
            subprocess.run(["ip", "netns", "del", self._space(site)], capture_output=True, check=False)
        atexit.unregister(self.close)

    def _space(self, site: str) -> str:
        return f"{self._mark}-{site}"

    def _ip(self, site: str, *words: str) -> None:
        do("ip", *(() if site == COORDINATOR else ("-n", self._space(site))), *words)

    def _tc(self, site: str, verb: str, device: str, *words: str) -> None:
        do(*self.words(site), "tc", "qdisc", verb, "dev", device, *words)


def _enter(namespace: int) -> None:
    """Let this thread be in a network namespace; Python has a call of its own for it from 3.12 on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, 0x40000000):
        raise OSError(ctypes.get_errno(), "a network namespace cannot be entered")


def _sweep() -> None:
    """Remove the namespaces and disks of test beds that were killed."""
    folder = Path("/run/netns")
    for one in folder.glob("twf*") if folder.exists() else ():
        pid = one.name.removeprefix("twf").partition("x")[0]
        if _is_dead(pid):
            subprocess.run(["ip", "netns", "del", one.name], capture_output=True, check=False)
    for line in Path("/proc/mounts").read_text().splitlines():
        source, place, *_ = line.split()
        if source.startswith("twf") and _is_dead(source.removeprefix("twf")):
            subprocess.run(["umount", "--lazy", place], capture_output=True, check=False)


def _is_dead(pid: str) -> bool:
    return pid.isdigit() and not Path(f"/proc/{pid}").exists()


def _unused() -> int:
    """A part of 10.200.0.0/16 that no other test bed uses."""
    taken = do("ip", "-4", "-o", "addr") + do("ip", "route")
    return random.Random(os.getpid()).choice([n for n in range(256) if f"10.200.{n}." not in taken])

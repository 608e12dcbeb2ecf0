"""Links on one machine without root: what sites say to each other passes through this process, if it passes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tradewind.backbone.settings import free_port

Link = tuple[str, str]
_PIECE = 8 << 10


class Cable:
    """Stands between those who dial its port and the one at another port; each way is whole, or is not."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._door.getsockname()[1]}"
        self.ways = {"there": threading.Event(), "back": threading.Event()}
        self.kbit: int | None = None
        self._closed = threading.Event()
        self._ends: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self.plug()
        self._threads[0].start()

    def plug(self) -> None:
        """All passes."""
        self.kbit = None
        for way in self.ways.values():
            way.set()

    def close(self) -> None:
        """Let go of everything."""
        self._closed.set()
        self.plug()
        for one in (self._door, *self._ends):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in (self._door, *self._ends):
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._closed.is_set():
                near = self._door.accept()[0]
                self._ends.append(near)
                try:
                    far = socket.create_connection(("127.0.0.1", self._port), timeout=5)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                self._ends.append(far)
                for one, other, way in ((near, far, "there"), (far, near, "back")):
                    self._threads.append(threading.Thread(target=self._carry, args=(one, other, way), daemon=True))
                    self._threads[-1].start()

    def _carry(self, one: socket.socket, other: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := one.recv(_PIECE):
                self.ways[way].wait()
                if self.kbit is not None:
                    self._closed.wait(len(data) * 8 / self.kbit / 1000)
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@dataclass
class Cables:
    """Sites at ports of this machine. Of two that are joined the first by name dials, so the other has the cable."""

    sites: Sequence[str]
    links: Sequence[Link]
    _ports: dict[str, int] = field(default_factory=dict)
    _cables: dict[str, Cable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ports = {site: free_port() for site in self.sites}
        self._cables = {max(link): Cable(self._ports[max(link)]) for link in self.links}

    def address(self, _: str) -> str:
        return "127.0.0.1"

    def words(self, _: str) -> list[str]:
        return []

    def listening(self, site: str) -> list[str]:
        cable = self._cables.get(site)
        return [
            "--listen", f"127.0.0.1:{self._ports[site]}", *(["--advertise", cable.address] if cable is not None else [])
        ]  # fmt: skip

    def has(self, link: Link) -> bool:
        return tuple(sorted(link)) in {tuple(sorted(one)) for one in self.links}

    def cut(self, link: Link, *, both: bool = True) -> None:
        ways = self._cables[max(link)].ways
        for near, far in (link, link[::-1]) if both else (link,):
            ways["there" if near < far else "back"].clear()

    def slow(self, link: Link, kbit: int) -> None:
        self._cables[max(link)].kbit = kbit

    def heal(self, link: Link) -> None:
        self._cables[max(link)].plug()

    @contextmanager
    def inside(self, _: str) -> Iterator[None]:
        yield

    def close(self) -> None:
        for one in self._cables.values():
            one.close()

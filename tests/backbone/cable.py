"""A cable between two machines, for tests: it can be pulled without either end noticing, and carry little."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

_PIECE = 16 << 10


class Cable(threading.Thread):
    """Stands between those who dial its address and the one at a port."""

    def __init__(self, port: int, mbps: float | None = None) -> None:
        super().__init__(daemon=True)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._port = port
        self._mbps = mbps
        self._whole = threading.Event()
        self._whole.set()
        self._threads: list[threading.Thread] = []
        self._ends: list[socket.socket] = []
        self.dial = f"127.0.0.1:{self._door.getsockname()[1]}"
        self.start()

    def pull(self) -> None:
        """Nothing passes, and nobody is told."""
        self._whole.clear()

    def plug(self) -> None:
        """All passes again, also what was sent meanwhile."""
        self._whole.set()

    def run(self) -> None:
        with suppress(OSError):
            while True:
                near = self._door.accept()[0]
                self._ends.append(near)
                try:
                    far = socket.create_connection(("127.0.0.1", self._port), timeout=5)
                except OSError:
                    near.close()
                    continue
                far.settimeout(None)
                self._ends.append(far)
                for one, other in ((near, far), (far, near)):
                    self._threads.append(threading.Thread(target=self._carry, args=(one, other), daemon=True))
                    self._threads[-1].start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(_PIECE):
                self._whole.wait()
                if self._mbps is not None:
                    time.sleep(len(data) * 8 / self._mbps / 1e6)
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.plug()
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self.join()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in self._ends:
            end.close()

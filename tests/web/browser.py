"""A browser without a window, told what to do through a pipe, and gone afterwards."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("chromium")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--window-size=1200,1000",
)  # fmt: skip


class Page:
    """A page of a browser: `complaints` is what it wrote to its console and what its policy forbade."""

    def __init__(self, to: int, since: int) -> None:
        self._to, self._since, self._kept = to, since, b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self.complaints: list[str] = []
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.tell(f"{domain}.enable")

    def tell(self, method: str, **given: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": given}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == number:
                assert "error" not in got, got
                return dict(got["result"])
            if got.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"):
                self.complaints.append(json.dumps(got["params"]))

    def value(self, expression: str) -> Any:
        return self.tell("Runtime.evaluate", expression=expression)["result"].get("value")

    def until(self, expression: str, seconds: float = 20.0) -> None:
        """Waits until something is true on the page."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"never {expression}: {self.value('document.body.innerText')}"
            time.sleep(0.05)

    def picture(self, path: Path, scheme: str = "light") -> bytes:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", features=features)
        data = base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])
        path.write_bytes(data)
        return data

    def _next(self, seconds: float = 20.0) -> dict[str, Any]:
        while b"\0" not in self._kept:
            assert select.select([self._since], [], [], seconds)[0], "the browser says nothing"
            got = os.read(self._since, 1 << 20)
            assert got, "the browser is gone"
            self._kept += got
        message, _, self._kept = self._kept.partition(b"\0")
        return dict(json.loads(message))


@contextmanager
def browsed(folder: Path) -> Iterator[Page]:
    # Sockets have short paths, so they are not in the folder. Helpers may still write there as they are killed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary, _started(folder, temporary) as page:
        yield page


@contextmanager
def _started(folder: Path, temporary: str) -> Iterator[Page]:
    assert PROGRAM is not None
    its_input, to = os.pipe()
    since, its_output = os.pipe()
    # It listens at the descriptors 3 and 4; a shell puts the pipes there, and is replaced by it.
    command = f'exec 8<&{its_input} 9>&{its_output}; exec 3<&8 4>&9 8<&- 9>&-; exec "$0" "$@"'
    browser = subprocess.Popen(
        ["bash", "-c", command, PROGRAM, *_FLAGS, f"--user-data-dir={folder}"],
        pass_fds=(its_input, its_output),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "HOME": str(folder), "TMPDIR": temporary},
    )
    os.close(its_input)
    os.close(its_output)
    try:
        yield Page(to, since)
    finally:
        os.close(to)
        os.close(since)
        # Its helpers are in the session that was started for it.
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()

"""A coordinator lets a deployment stand still for a while, and go on: state and positions are kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tradewind.errors import RunError
from tradewind.runtime.cluster.arranging import Arranging
from tradewind.runtime.cluster.desired import Wanted


@dataclass
class Pausing(Arranging):
    """A coordinator that pauses what runs. Its methods may be called from any thread."""

    def pause(self) -> dict[str, Any]:
        """Let all queries stand still after the micro-batches that they are at. What is paused already stays so."""
        with self._lock:
            wanted = self._arranged()
            if wanted.saving is not None and wanted.saving.resumes:
                self._want(wanted=replace(wanted, saving=replace(wanted.saving, resumes=False)))
                return self._paused(wanted, changed=True)
            if not wanted.paused:
                if self.status()["state"] == "ended":
                    raise RunError(f"{wanted.name} has come to its end: there is nothing to pause.")
                self._want(wanted=replace(wanted, paused=True))
            return self._paused(wanted, changed=not wanted.paused)

    def resume(self) -> dict[str, Any]:
        """Let a deployment that is paused go on from where it was. What runs goes on running."""
        with self._lock:
            wanted = self._running()
            if wanted.saving is not None:
                raise RunError(
                    f"savepoint {wanted.saving.name!r} is being taken.", hint="it goes on once that is done."
                )
            if wanted.paused:
                self._want(wanted=replace(wanted, paused=False))
            return self._paused(wanted, changed=wanted.paused)

    def _paused(self, before: Wanted, *, changed: bool) -> dict[str, Any]:
        return {"epoch": self._desired.epoch, "deployment": before.name, "changed": changed}

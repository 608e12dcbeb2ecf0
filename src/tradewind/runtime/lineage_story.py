"""A run of a deployment in one process, told as OpenLineage events: each query of it begins, and ends somehow."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.lineage import Kind, Run, event, run_id, run_of
from tradewind.runtime.lineage_sender import Sender
from tradewind.runtime.secrets import values_of


@dataclass
class Story:
    """What has begun, and whether it has come to its end."""

    sender: Sender | None
    until_done: bool
    now: Callable[[], datetime]
    done: bool = False
    """Whether all was read to its end; whoever watches the run says so."""
    _runs: dict[str, Run] = field(default_factory=dict)
    _secrets: list[str] = field(default_factory=list)
    # Each time that it is started is a run of its own, also if it goes on from the state of the one before.
    _name: str = field(default_factory=lambda: secrets.token_hex(16))

    def begin(self, found: Deployment) -> None:
        """The queries of a deployment that have not begun yet do so."""
        if self.sender is None:
            return
        self._secrets = [*self.sender.secrets, *values_of(found)]
        for name in found.queries:
            if name not in self._runs:
                run = run_of(
                    found, name, namespace=self.sender.namespace, until_done=self.until_done,
                    run=run_id(self._name, name),
                )  # fmt: skip
                self._runs[name] = run
                self.sender.send(event("START", run, self.now()))

    def fail(self, reasons: Mapping[str, str]) -> None:
        """Some queries have failed, while others came to their end."""
        for name, reason in reasons.items():
            run = self._runs.pop(name, None)
            if run is not None and self.sender is not None:
                self.sender.send(event("FAIL", run, self.now(), error=reason, secrets=self._secrets))

    def end(self, kind: Kind, error: str | None = None) -> None:
        """All that has begun ends."""
        for run in self._runs.values():
            if self.sender is not None:
                self.sender.send(event(kind, run, self.now(), error=error, secrets=self._secrets))
        self._runs.clear()


@contextmanager
def told(found: Deployment, sender: Sender | None, *, until_done: bool, now: Callable[[], datetime]) -> Iterator[Story]:
    """A run from its start to its end: complete if it is done by then, aborted if not, failed if an error ends it."""
    story = Story(sender, until_done, now)
    try:
        story.begin(found)
        yield story
    except Exception as error:
        story.end("FAIL", str(error) or type(error).__name__)
        raise
    except BaseException:
        story.end("ABORT")
        raise
    else:
        story.end("COMPLETE" if story.done else "ABORT")
    finally:
        if sender is not None:
            sender.close()

"""What the interface asks of the coordinator, or of a site: the only thing that it knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from tradewind.errors import RunError

Told = Mapping[str, Any]
# Name, help, kind ("gauge" or "counter"), labels, value: a plain tuple, so that who measures need not know this room.
Sample = tuple[str, str, str, Mapping[str, str], float]


class UnavailableError(RunError):
    """The coordinator cannot answer now, but may soon: it has just started, or another one leads."""


class Measured(Protocol):
    """Tells how it is, in figures, and is asked from several threads at once."""

    def metrics(self) -> Iterable[Sample]:
        """What Prometheus is told, in base units."""


class Desk(Measured, Protocol):
    """Takes and gives plain data, and is asked from several threads at once.

    It may raise `DeploymentError` (422), `UnknownNameError` (404), any other `InputError` (400), `UnavailableError`
    (503) and any other `RunError` (409). Whatever else it raises is a bug, of which the asker sees only a number.
    """

    def status(self) -> Told:
        """All that is known of the deployment, its sites, links and queries."""

    def version(self) -> int:
        """A number that grows whenever anything in the status changes; it is asked often, so it must be cheap."""

    def check(self, text: str, called: str) -> Sequence[Told]:
        """What is wrong in a deployment file: where, what, hint."""

    def difference(
        self, text: str, called: str, *, planner: str | None, until_done: bool, fresh: bool, savepoint: str | None
    ) -> Told:
        """What applying a deployment file would change."""

    def apply(
        self,
        text: str,
        called: str,
        *,
        planner: str | None,
        expected_epoch: int | None,
        until_done: bool,
        fresh: bool,
        savepoint: str | None,
    ) -> Told:
        """Makes a deployment file what runs, if the epoch is still the expected one; `fresh` forgets what was, and a
        savepoint is what it starts from.
        """

    def stop(self) -> Told:
        """Ends what runs; what was delivered stays."""

    def pause(self) -> Told:
        """Lets what runs stand still; its state is kept."""

    def resume(self) -> Told:
        """Lets what is paused go on."""

    def savepoint(self, name: str) -> Told:
        """Begins to take a savepoint of what runs."""

    def savepoints(self) -> Sequence[Told]:
        """The savepoints that there are, the one that is being taken, and the last ones that could not be."""

    def remove_savepoint(self, name: str) -> Told:
        """Removes a savepoint."""

    def add(self, text: str, called: str) -> Told:
        """Adds the queries of a text to what runs."""

    def remove(self, query: str) -> Told:
        """Takes a query out of what runs."""

    def streams(self) -> Sequence[Told]:
        """The streams that are declared, with their schemas and where they arise."""

    def entities(self) -> Sequence[Told]:
        """Everything that has a name."""

    def describe(self, name: str) -> Told:
        """What is known of one thing that has a name."""

    def stats(self) -> Told:
        """What was measured."""

    def rows(self, query: str, limit: int, oldest: bool) -> Told:
        """The current answer of a query: at most so many of its newest rows, or its oldest, and how many there are."""

    def push(self, stream: str, rows: list[dict[str, Any]]) -> int:
        """Gives rows to a stream that takes them; how many it took."""

    def token(self, site: str, seconds: float, hosts: Sequence[str]) -> str:
        """A token with which a site may join once, for so long, and be dialled under the names of its hosts."""

    def join(self, token: str, csr: str) -> Told:
        """Lets a site in: what it needs to take part, for its token and its certificate request."""

    def revoke(self, site: str) -> Told:
        """Shuts a site out."""

    def move(self, query_or_fragment: str, site: str) -> Told:
        """Moves a query's delivery, or a fragment, to another site."""

    def cancel_move(self) -> Told:
        """Undoes the move that is under way."""

    def split(self, query_or_fragment: str, over: int | None) -> Told:
        """Splits a fragment, or what merges for a query, over agents of its site."""

    def merge(self, query_or_fragment: str) -> Told:
        """Makes what was split one again."""

    def ca(self) -> str:
        """The certificate of the authority that sites trust, as PEM."""

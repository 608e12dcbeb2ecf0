"""A run that others talk to: queries that they added go on with it, and they may add more."""

from __future__ import annotations

from collections.abc import Iterator

from tradewind.errors import TradewindError
from tradewind.frontends.deployment.file import deployment_with
from tradewind.runtime.attachments import attachments, texts
from tradewind.runtime.live import Live
from tradewind.runtime.requests import answer, waiting


def restore(live: Live) -> Iterator[str]:
    """Go on with the queries that texts added to earlier runs of this state: their names."""
    before: list[str] = []
    for one in attachments(live.state) if live.planned is not None else ():
        if one.text is not None:
            yield from live.add(deployment_with(live.file, one.text, one.called, added=before))
            before.append(one.text)


def serve(live: Live) -> Iterator[str]:
    """Do what other processes ask over the backbone of a run, and say what was done."""
    if live.planned is None:
        return
    connection, name = live.wiring.connection, live.wiring.name
    for request in waiting(connection, name):
        try:
            wanted = deployment_with(live.file, request.text, request.called, added=texts(live.state))
            added = live.add(wanted, text=request.text, called=request.called)
        except TradewindError as error:
            answer(connection, name, request, error)
            yield f"refused {request.called}: {error}"
        else:
            answer(connection, name, request, added)
            yield f"added {', '.join(added)} from {request.called}"

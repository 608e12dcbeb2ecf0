"""What a site that runs tells of itself: its links, answers, streams and channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tradewind.backbone import catalog
from tradewind.backbone.retention import whole
from tradewind.runtime.cluster.reports import AnswerTold, ChannelTold, LinkTold, OriginTold, ReadTold, WaitTold
from tradewind.runtime.sites import Sites


@dataclass(frozen=True, slots=True)
class Told:
    """What a site told when it was last looked at."""

    links: list[LinkTold] = field(default_factory=list)
    answers: dict[str, AnswerTold] = field(default_factory=dict)
    read: list[ReadTold] = field(default_factory=list)
    channels: list[ChannelTold] = field(default_factory=list)


def links_of(sites: Sites) -> list[LinkTold]:
    """What came over each link that ends here."""
    return [
        LinkTold(
            start=start, end=end, bytes=one.bytes, rows=one.rows, messages=one.messages, batches=one.batches,
            control_bytes=one.control_bytes, backlog_bytes=one.backlog_bytes, round_trip_ms=one.round_trip_ms,
            reached=one.reached,
        )
        for (start, end), one in sites.counts().items()
    ]  # fmt: skip


def answers_of(sites: Sites) -> dict[str, AnswerTold]:
    """How the answers are that are delivered here."""
    marks, missing, waits = sites.marks(), sites.missing(), sites.waits()
    found = {}
    for name, one in sites.totals.items():
        known: Mapping[str, float] = marks.get(name, {})
        found[name] = AnswerTold(
            final=one.final,
            tentative=one.tentative,
            missing=list(missing.get(name, ())),
            waits_for=[WaitTold(origin=origin, seconds=for_) for origin, for_ in waits.get(name, {}).items()],
            settled=_finite(min(known.values(), default=None)),
            newest=_finite(max(known.values(), default=None)),
        )
    return found


def read_of(sites: Sites) -> list[ReadTold]:
    """What was read of the streams that arise here."""
    return [
        ReadTold(
            stream=stream, rows=one.rows, bad=one.bad, late=one.late, dropped=one.dropped, earliest=one.earliest,
            latest=one.latest, missing_files=one.missing_files,
        )
        for (stream, _), one in sites.read.items()
    ]  # fmt: skip


def origins_of(sites: Sites) -> list[OriginTold]:
    """Where the streams stand that arise here."""
    return [
        OriginTold(stream=stream, origin=origin, mark=_finite(one.mark), idle=one.idle, silent_seconds=one.silent)
        for (stream, origin), one in sites.idling.origins().items()
    ]


def channels_of(sites: Sites) -> list[ChannelTold]:
    """What the channels hold that are here."""
    wiring = sites.wiring
    return [
        ChannelTold(
            name=one.address.channel, batches=one.batches, rows=one.rows, bytes=one.bytes,
            readers=len(one.subscribers), whole=whole(wiring.connection, one.address),
        )
        for one in catalog.channels(wiring.connection, wiring.name)
    ]  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) != float("inf") else None

"""What becomes of delivered answers when another deployment is applied, by query and folder. No I/O."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tradewind.fragments.differences import difference
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.runtime.cluster.changes import Changes
from tradewind.runtime.cluster.delivered import Held
from tradewind.runtime.cluster.desired import Wanted

Output = dict[str, Any]
"""A query's delivered answers: query, site, path, how many files (None: its site is not there to tell), and an action:
`removed` (and worked out again), `restored` (to what a savepoint holds), `kept` (nobody goes on with it),
`elsewhere` (the query goes on in another folder).
`unrepeatable` are the streams behind it whose earlier rows cannot be read again, since they were pushed.
"""


def recomputed(before: Wanted, after: Wanted) -> tuple[str, ...]:
    """The queries that go on under their names, but from the beginning: what delivers them is another fragment."""
    started = _delivered_anew(before, after)
    known = {*_answers(before), *before.removed}
    # A site that was away has not seen to those of earlier changes yet.
    return tuple(sorted({*(before.recomputed), *(name for name in started if name in known)} & set(_answers(after))))


def foreign(changes: Changes, held: Held) -> Held:
    """Answers that others delivered to where queries are about to begin."""
    if changes.after is None or changes.after.fresh or _restored(changes) or changes.nothing:
        return []
    before = None if changes.anew else changes.before
    started = _delivered_anew(before, changes.after) - set(changes.after.recomputed)
    return [one for one in held if one["query"] in started]


def outputs(
    changes: Changes, old: Deployment | None, new: Deployment, held: Held, alive: Collection[str]
) -> list[Output]:
    """What becomes of all that was delivered, as far as it changes. `old` is what runs, `new` what would."""
    if changes.nothing or changes.after is None:
        return []
    before = None if changes.anew else changes.before
    files = {one["query"]: one["files"] for one in held}
    removed = _delivered_anew(before, changes.after)
    restored = _restored(changes)
    if not changes.after.fresh and not restored:
        removed &= set(changes.after.recomputed)
    shown = [
        _output(
            name,
            new,
            "restored" if restored else "removed",
            files.get(name, 0 if new.queries[name].deliver.site in alive else None),
        )
        for name in new.queries
        if name in removed
    ]
    shown = [one for one in shown if one["path"] is not None and (restored or one["files"] != 0)]
    if old is None or changes.before is None:
        return shown
    ran = set(_answers(changes.before)) - set(changes.before.removed)
    for name in (name for name in old.queries if name in ran and old.queries[name].deliver.path is not None):
        if name not in new.queries:
            shown.append(_output(name, old, "kept"))
        elif _place(old, name) != _place(new, name):
            shown.append(_output(name, old, "kept" if name in removed else "elsewhere"))
    return shown


def _restored(changes: Changes) -> bool:
    """Whether what was delivered becomes what it was at a savepoint."""
    return changes.anew and changes.after is not None and changes.after.restores is not None


def _delivered_anew(before: Wanted | None, after: Wanted) -> set[str]:
    """The queries that fragments deliver which begin from nothing."""
    started = after.deployed.fragments if before is None else difference(before.deployed, after.deployed).started
    return {name for one in started for name in one.answers} - set(after.removed)


def _answers(wanted: Wanted) -> list[str]:
    return [name for one in wanted.deployed.fragments for name in one.answers]


def _place(found: Deployment, name: str) -> tuple[str, str | None]:
    deliver = found.queries[name].deliver
    return deliver.site, deliver.path


def _output(name: str, found: Deployment, action: str, files: int | None = None) -> Output:
    deliver = found.queries[name].deliver
    pushed = [
        stream
        for stream in found.graph(name).sources()
        if any(origin.format == "push" for origin in found.streams[stream].origins.values())
    ]
    return {
        "query": name, "site": deliver.site, "path": deliver.path, "files": files, "action": action,
        "unrepeatable": sorted(pushed) if action == "removed" else [],
    }  # fmt: skip

"""How a coordinator leads cuts: a fragment is cut where it is, its shares go to workers, or its work to another site,
and all comes back the same way. What is wanted says how far it is, so a coordinator that starts again goes on. No I/O,
and no clock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tradewind.errors import InputError, RunError, unknown
from tradewind.fragments.deployed import Deployed, Fragment
from tradewind.fragments.parting import places, split
from tradewind.fragments.sharing import Sharing
from tradewind.fragments.triggers import queries_of
from tradewind.runtime.cluster.desired import Wanted
from tradewind.runtime.cluster.moving import Move
from tradewind.runtime.cluster.moving_lead import begun
from tradewind.runtime.cluster.moving_reports import MoveTold
from tradewind.runtime.cluster.moving_routes import Roads, require_movable
from tradewind.runtime.cluster.presence import Presence, Present
from tradewind.runtime.cluster.recutting import Recut, Split
from tradewind.runtime.cluster.workers import home_of, workers_of

_STANDING = 120.0
"""Seconds for which fragments may stand still before a cut is undone."""
_LATER = 30.0
"""Seconds until what was undone is tried again, as far as it is tried again."""


def split_begun(wanted: Wanted, what: str, over: int | None, free: Iterable[str]) -> Wanted:
    """What is wanted so that a fragment, or what merges for a query, is split over its site and free workers of it."""
    if wanted.until_done:
        raise RunError("what runs only until all is read is not split.", hint="apply the file without --until-done.")
    fragment = to_split(wanted, what)
    if home_of(fragment.site) != fragment.site:
        raise InputError(f"fragment {fragment.name!r} is at a worker itself.", where="split")
    workers = workers_of(fragment.site, free)
    count = len(workers) + 1 if over is None else over
    if not 2 <= count <= len(workers) + 1:
        raise InputError(
            f"fragment {fragment.name!r} cannot be split over {count}: {len(workers)} free workers are there at "
            f"{fragment.site!r}.",
            where="split",
            hint=f"tradewind agent --site {fragment.site} --worker 2, with a token by tradewind token.",
        )
    term = wanted.term + 1
    made = Split(fragment, term, (fragment.site, *workers[: count - 1]))
    split(wanted.deployed, made.parting)
    return replace(wanted, recut=Recut(term, made), term=term)


def detach_begun(wanted: Wanted, fragment: Fragment, target: str) -> Wanted:
    """What is wanted so that a fragment that delivers is taken apart, and its work goes to another site then."""
    if wanted.until_done:
        raise RunError(
            f"{fragment.name!r} delivers, and what delivers and runs only until all is read is not moved.",
            hint="apply the file without --until-done.",
        )
    require_movable(fragment, target)
    term = wanted.term + 1
    return replace(wanted, recut=Recut(term, Split(fragment, term, (target,))), term=term)


def settles(wanted: Wanted, work: Split, site: str) -> Wanted:
    """What is wanted so that the work of a fragment that was taken apart is at a site: at home it is one again."""
    return _changed(wanted, work, replace(work, places=(site,), merging=site == work.whole.site))


def stayed(wanted: Wanted, undone: Move) -> Wanted:
    """What is wanted after a move was undone: work that was to go on elsewhere stays where it is."""
    for one in wanted.splits:
        if one.detached and one.runs(wanted.deployed):
            work = places(wanted.deployed, one.parting)[0]
            if work.name == undone.fragment:
                return settles(wanted, one, work.site)
    return wanted


def to_split(wanted: Wanted, what: str) -> Fragment:
    """The fragment of a name, or the last one on the way to a query's answer that can be split."""
    deployed = wanted.deployed
    _refuse_split(wanted, what)
    named = [one for one in deployed.fragments if one.name == what]
    if named:
        return named[0]
    on_the_way = [one for one in deployed.fragments if what in queries_of(deployed, one)]
    if not on_the_way:
        names = [one.name for one in deployed.fragments]
        raise unknown(
            "fragment or query", what, [*names, *(name for one in deployed.fragments for name in one.answers)]
        )
    problem: InputError | None = None
    for one in reversed(on_the_way):
        try:
            split(deployed, Sharing(one, 2, 0))
        except InputError as error:
            problem = problem or error
        else:
            return one
    if problem is None:
        raise unknown("fragment or query", what, ())
    raise problem


def _refuse_split(wanted: Wanted, what: str) -> None:
    found = found_split(wanted, what)
    if found is not None:
        where = "in parts already, which are at" if found.detached else "split already, over"
        raise InputError(
            f"{what!r} is {where} {', '.join(found.places)}.", where="split", hint="tradewind merge first."
        )


def found_split(wanted: Wanted, what: str) -> Split | None:
    """The split of a fragment, by its name, that of one of its parts, or that of a query whose answer rests on it."""
    for one in wanted.splits:
        if not one.runs(wanted.deployed):
            continue
        parts = [*places(wanted.deployed, one.parting), one.parting.together]
        if what == one.whole.name or any(what == part.name for part in parts):
            return one
        if any(what in queries_of(wanted.deployed, part) for part in parts):
            return one
    return None


def merge_begun(wanted: Wanted, what: str) -> Wanted:
    """What is wanted so that a fragment is made one again."""
    found = found_split(wanted, what)
    if found is None:
        whole = [one.whole.name for one in wanted.splits]
        raise InputError(f"{what!r} is not split.", where="merge", hint=f"split are: {', '.join(whole) or 'none'}.")
    return _changed(wanted, found, replace(found, merging=True))


def busy(deployed: Deployed) -> set[str]:
    """The places that have something to do."""
    return {one.site for one in deployed.fragments}


def next_step(wanted: Wanted, roads: Callable[[], Roads]) -> Wanted | None:
    """What is wanted so that the next share goes to where it is to be, or that shares that are home are made one."""
    for one in wanted.splits:
        if not one.runs(wanted.deployed):
            return replace(wanted, splits=tuple(other for other in wanted.splits if other is not one))
        for share, goal in zip(places(wanted.deployed, one.parting), one.goals, strict=True):
            if share.site != goal:
                try:
                    return begun(wanted, share.name, goal, roads())
                except InputError:  # no way leads there any more
                    if not one.detached:
                        raise
                    return settles(wanted, one, share.site)
        if one.merging:
            term = wanted.term + 1
            return replace(wanted, recut=Recut(term, one, joining=True), term=term)
    return None


def on_the_way(wanted: Wanted) -> Split | None:
    """What was taken apart so that its work goes elsewhere, where that has not begun to go yet."""
    for one in wanted.splits:
        if one.detached and one.runs(wanted.deployed) and places(wanted.deployed, one.parting)[0].site != one.goals[0]:
            return one
    return None


@dataclass
class Recuts:
    """What is known of the cut that is under way, and of those that were undone."""

    undone: list[dict[str, Any]] = field(default_factory=list)
    later: float = float("-inf")
    """Until then nothing is begun by itself."""
    _term: int = 0
    _since: float = 0.0
    _presence: Presence = field(default_factory=lambda: Presence(0.0))

    def next(
        self, wanted: Wanted, told: Mapping[str, MoveTold], now: float, present: Mapping[str, Present]
    ) -> Wanted | None:
        """What is wanted once a cut is done, or has taken too long, given who was heard of; None as long as nothing
        changes.
        """
        recut = wanted.recut
        if recut is None:
            return None
        if recut.term != self._term:
            self._term, self._since, self._presence = recut.term, now, Presence(now)
        heard = told.get(recut.site)
        if heard is not None and heard.term == recut.term and heard.recut:
            return self._done(wanted, recut)
        if recut.split.detached and not recut.joining:
            # The work is to go elsewhere afterwards: there is no use in that without both.
            lost = self._presence.lost((recut.site, *recut.split.places), present, now)
            if lost is not None:
                return self.undo(wanted, recut, lost, now)
        if now - self._since > _STANDING:
            problem = heard.problem if heard is not None and heard.term == recut.term else None
            return self.undo(wanted, recut, problem or f"{recut.site} did not tell in time that it is done", now)
        return None

    def put_off(self, now: float) -> None:
        """Something went wrong: what goes on by itself waits for a while."""
        self.later = now + _LATER

    def _done(self, wanted: Wanted, recut: Recut) -> Wanted:
        others = tuple(one for one in wanted.splits if one.term != recut.split.term)
        gone = {one.name for one in recut.before}
        terms = {name: term for name, term in wanted.terms.items() if name not in gone}
        return replace(
            wanted,
            deployed=recut.done(wanted.deployed),
            intervals=recut.figures(wanted.intervals),
            horizons=recut.figures(wanted.horizons),
            terms={**terms, **{one.name: recut.term for one in recut.arriving}},
            recut=None,
            splits=others if recut.joining else (*others, recut.split),
        )

    def undo(self, wanted: Wanted, recut: Recut, why: str, now: float) -> Wanted:
        """What is wanted once a cut is undone, and why it is."""
        self.put_off(now)
        state = "not merged" if recut.joining else "not split"
        self.undone = [*self.undone[-20:], {**shown(recut.split), "state": state, "problem": why}]
        if not recut.joining:
            return replace(wanted, recut=None)
        return replace(_changed(wanted, recut.split, replace(recut.split, merging=False)), recut=None)

    def shown(self, wanted: Wanted | None) -> list[dict[str, Any]]:
        """All splits that are known, the last one last."""
        if wanted is None:
            return []
        found = [
            *self.undone,
            *({**shown(one), "state": _state(wanted, one), "problem": None} for one in wanted.splits),
        ]
        if wanted.recut is not None and not wanted.recut.joining:
            state = "coming apart" if wanted.recut.split.detached else "splitting"
            found.append({**shown(wanted.recut.split), "state": state, "problem": None})
        return sorted(found, key=lambda one: int(one["term"]))


def shown(one: Split) -> dict[str, Any]:
    """A split as plain data."""
    return {
        "term": one.term, "fragment": one.whole.name, "site": one.whole.site, "over": len(one.places),
        "places": list(one.places), "keys": list(one.parting.keys),
    }  # fmt: skip


def _state(wanted: Wanted, one: Split) -> str:
    if one.merging:
        return "merging"
    if not one.runs(wanted.deployed):
        return "ending"
    there = [share.site for share in places(wanted.deployed, one.parting)]
    if tuple(there) != one.places or wanted.move is not None:
        return "moving"
    return "apart" if one.detached else "split"


def _changed(wanted: Wanted, old: Split, new: Split) -> Wanted:
    splits: Sequence[Split] = [new if one.term == old.term else one for one in wanted.splits]
    return replace(wanted, splits=tuple(splits))

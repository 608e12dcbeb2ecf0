"""The coordinator: it says what is wanted, lets sites in and shuts them out, and leads fragments from site to site."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tradewind.backbone import catalog
from tradewind.cost.growing_joins import refuse_full
from tradewind.errors import DataError, DeploymentError, InputError, RunError, TradewindError, unknown
from tradewind.frontends.deployment.check import load, load_more
from tradewind.frontends.deployment.deployment import Deployment
from tradewind.frontends.deployment.file import placed_in
from tradewind.runtime.cluster import delivered, idle, renewing
from tradewind.runtime.cluster.changes import Changes, begins_anew, without
from tradewind.runtime.cluster.desired import BUCKET, Wanted
from tradewind.runtime.cluster.moving_reports import SUBJECT, told_of
from tradewind.runtime.cluster.moving_routes import Roads
from tradewind.runtime.cluster.outputs import foreign, outputs, recomputed
from tradewind.runtime.cluster.planning import wanted_also, wanted_of, with_moves
from tradewind.runtime.cluster.reports import report_of
from tradewind.runtime.cluster.ruling import Office
from tradewind.runtime.cluster.savepoints import Savepoint, Saves, require_fit
from tradewind.runtime.cluster.saving import Restoring
from tradewind.runtime.cluster.workers import with_workers

__all__ = ["Coordinator", "Office"]

_REPORTS, _ANSWERS = "tw.report.*.state", "tw.report.*.answer"
_TICK = 0.5
_PATIENCE = 5.0


@dataclass
class Coordinator(Saves):
    """A coordinator that leads. Its methods may be called from any thread, and give plain data."""

    _stopping: threading.Event = field(default_factory=threading.Event)
    _ticker: threading.Thread | None = None

    # --- its life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to lead: sites may connect when this returns."""
        try:
            self._open()
            for subject, told in (
                (_REPORTS, self._reported), (_ANSWERS, self._answered), (SUBJECT, self._move_told),
                (renewing.SUBJECT, self._renew),
            ):  # fmt: skip
                self._wired.subscribe(subject, told)
        except BaseException:
            self.stop_leading()
            raise
        self._ticker = threading.Thread(target=self._tick, name="tradewind-coordinator", daemon=True)
        self._ticker.start()

    def stop_leading(self) -> None:
        """End; sites go on."""
        self._stopping.set()
        if self._ticker is not None:
            self._ticker.join()
        self._close()

    def _tick(self) -> None:
        """Tell sites where others are, once that has changed, and lead on what moves."""
        while not self._stopping.wait(_TICK):
            with self._lock, suppress(TradewindError):
                known = {**self._desired.addresses, **self.registry.addresses()}
                known = {site: one for site, one in known.items() if site in self._desired.principals}
                if known != self._desired.addresses:
                    self._want(addresses=known)
                self._lead_on()
                if self._desired.wanted is not None:
                    for site, order in idle.orders(self.registry, self._desired.wanted, self.clock()).items():
                        self._questions.tell(site, order)

    # --- what is wanted ---------------------------------------------------------------------------------------

    def check(self, text: str, called: str) -> list[dict[str, Any]]:
        """All that is wrong with a deployment's text."""
        try:
            self._loaded(text, _plain_name(called))
        except DeploymentError as error:
            return [{"where": one.where, "what": one.what, "hint": one.hint} for one in error.problems]
        return []

    @staticmethod
    def _loaded(text: str, name: str) -> Deployment:
        """What a text declares; a `DeploymentError` if it is not right, or would fill the memory of a site."""
        found = load(text, name)
        refuse_full(found, lambda findings: placed_in(text, name, findings))
        return found

    def _changed(self, text: str, called: str, planner: str | None, until_done: bool, fresh: bool) -> Changes:
        found = self._loaded(text, str(self.office.root / _plain_name(called)))
        before = self._desired.wanted
        after = wanted_of(found, text, planner, self.office.folder / "figures", until_done=until_done)
        same = before is not None and before.name == after.name
        plain: Wanted | None = None
        if same and before is not None and before.text == text and before.planner == planner and not fresh:
            # Nothing was changed: what was added and removed since stays so, and so does what has moved.
            after = before if before.until_done == until_done else replace(before, until_done=until_done)
        elif same and before is not None:
            plain, after = after, with_moves(after, before, Roads.of(with_workers(found, before.places)))
        anew = fresh or begins_anew(before, after, self._whole())
        generation = before.generation if before is not None else 0
        known = catalog.get(self._wired, BUCKET, "generation") or {"generation": 0}
        if anew:
            generation = max(generation, int(known["generation"])) + 1
            after = replace(plain or after, paused=False, saving=None, restores=None, recomputed=())
        after = replace(after, generation=generation, fresh=fresh or (same and anew), imitate=self.office.imitate)
        if before is not None and not anew:
            # A site that was away may not have begun with what the deployment started from.
            after = replace(after, recomputed=recomputed(before, after), restores=before.restores)
        return Changes(before, after, anew)

    def _changed_from(self, known: Savepoint, text: str, called: str, planner: str | None, until_done: bool) -> Changes:
        """As a deployment that starts from a savepoint: what was added, removed, moved and split by then is so."""
        found, saved = load(text, str(self.office.root / _plain_name(called))), known.wanted
        after = wanted_of(found, text, planner, self.office.folder / "figures", until_done=until_done)
        if (saved.text, saved.planner) == (text, planner):
            after = replace(saved, name=after.name, called=after.called, until_done=until_done)
        else:
            after = with_moves(after, saved, Roads.of(with_workers(found, saved.places)))
        root = self.office.root
        require_fit(known, saved.declared(root), after, after.declared(root))
        generations = catalog.get(self._wired, BUCKET, "generation") or {"generation": 0}
        before = self._desired.wanted
        generation = max(0 if before is None else before.generation, int(generations["generation"])) + 1
        after = replace(
            after, generation=generation, fresh=False, recomputed=(), paused=False, saving=None,
            restores=Restoring(known.name, known.key), imitate=self.office.imitate,
        )  # fmt: skip
        return Changes(before, after, anew=True)

    def _savepoint_of(self, name: str | None, fresh: bool) -> Savepoint | None:
        """The savepoint to start from. Sites are asked for it without the lock: they may take a while."""
        if name is None:
            return None
        if fresh:
            raise InputError("--from and --fresh exclude each other.", hint="choose one.")
        known = self.known_savepoint(name)
        self._require_saved(known)
        return known

    def difference(
        self,
        text: str,
        called: str,
        *,
        planner: str | None = None,
        until_done: bool = False,
        fresh: bool = False,
        savepoint: str | None = None,
    ) -> dict[str, Any]:
        """What a deployment would change."""
        held, known = self._held(text, called), self._savepoint_of(savepoint, fresh)
        with self._lock:
            if known is not None:
                return self._shown(self._changed_from(known, text, called, planner, until_done), held)
            return self._shown(self._changed(text, called, planner, until_done, fresh), held)

    def apply(
        self,
        text: str,
        called: str,
        *,
        planner: str | None = None,
        expected_epoch: int | None = None,
        until_done: bool = False,
        fresh: bool = False,
        savepoint: str | None = None,
    ) -> dict[str, Any]:
        """Let a deployment run in place of the one that does; what is equal goes on. It may start from a savepoint."""
        held, known = self._held(text, called), self._savepoint_of(savepoint, fresh)
        with self._lock:
            if expected_epoch is not None and expected_epoch != self._desired.epoch:
                raise RunError(
                    f"epoch {self._desired.epoch} is wanted by now, not {expected_epoch}.",
                    hint="somebody else has changed it: look at the difference again.",
                )
            if known is not None:
                changes = self._changed_from(known, text, called, planner, until_done)
            else:
                changes = self._changed(text, called, planner, until_done, fresh)
            if changes.before is not None and not changes.nothing:
                # What stays as it is may be on its way: a coordinator that died meanwhile is started as it was before.
                self._arranged() if changes.anew else self._settled()
            shown = self._shown(changes, held)
            delivered.refuse(shown["delivered"])
            if not changes.nothing and changes.after is not None:
                catalog.put(self._wired, BUCKET, "generation", {"generation": changes.after.generation})
                self._want(wanted=changes.after)
            return {**shown, "epoch": self._desired.epoch}

    def _held(self, text: str, called: str) -> delivered.Held:
        """Answers that are where a deployment would deliver its own. Asked without the lock: sites may take a while."""
        found = load(text, str(self.office.root / _plain_name(called)))
        return self._held_of(found, [text])

    def _held_of(self, found: Deployment, texts: Sequence[str]) -> delivered.Held:
        with self._lock:
            alive = self.registry.alive(self.clock())
        return delivered.held(
            found, texts, alive, lambda site, question: self._questions.ask(site, question, _PATIENCE)
        )

    def _shown(self, changes: Changes, held: delivered.Held) -> dict[str, Any]:
        """A difference as plain data. Answers of others are in the way of what begins, unless they are removed then."""
        alive = self.registry.alive(self.clock())
        new = None if changes.after is None else changes.after.declared(self.office.root)
        return {
            "epoch": self._desired.epoch, **changes.to_json(), "waiting_for": self._absent(changes),
            "delivered": foreign(changes, held),
            "outputs": [] if new is None else outputs(changes, self.declared(), new, held, alive),
        }  # fmt: skip

    def stop(self) -> dict[str, Any]:
        """Let nothing run; what was delivered stays."""
        with self._lock:
            if self._desired.wanted is not None:
                self._want(wanted=None)
            return {"epoch": self._desired.epoch}

    def add(self, text: str, called: str) -> dict[str, Any]:
        """Answer the queries of one more text, besides those that are answered: what runs goes on."""
        held = self._held_also(text)
        with self._lock:
            whole = [name for name, all_of_it in self._whole().items() if all_of_it]
            figures = self.office.folder / "figures"
            after, names = wanted_also(self._settled(), text, whole, self.office.root, figures)
            delivered.refuse([one for one in held if one["query"] in names], "deliver to another folder.")
            self._want(wanted=after)
            return {"epoch": self._desired.epoch, "added": names}

    def _held_also(self, more: str) -> delivered.Held:
        """Answers that are where queries of one more text would deliver theirs."""
        wanted = self._running()
        texts = [wanted.text, *(one.text for one in wanted.added), more]
        found = load_more(texts[0], texts[1:-1], more, str(self.office.root / wanted.called), "queries")
        return self._held_of(found, texts)

    def remove(self, query: str) -> dict[str, Any]:
        """Answer a query no more; what only it needs is stopped, and all else goes on."""
        with self._lock:
            wanted = self._settled()
            answered = [name for one in wanted.deployed.fragments for name in one.answers]
            if query not in answered or query in wanted.removed:
                raise unknown("query", query, [name for name in answered if name not in wanted.removed])
            removed = (*wanted.removed, query)
            deployed = without(wanted.deployed, removed, wanted.splits)
            again = tuple(name for name in wanted.recomputed if name != query)
            self._want(wanted=replace(wanted, removed=removed, deployed=deployed, recomputed=again))
            return {"epoch": self._desired.epoch, "removed": query}

    def _whole(self) -> dict[str, bool]:
        """Of each channel, whether it holds all that was ever sent on it, at every site where it is."""
        found: dict[str, bool] = {}
        for heard in self.registry.heard.values():
            for one in heard.report.channels:
                found[one.name] = found.get(one.name, True) and one.whole
        return found

    def _absent(self, changes: Changes) -> list[str]:
        """The sites that are needed and not there."""
        if changes.after is None:
            return []
        now, needed = self.clock(), {one.site for one in changes.after.deployed.fragments}
        return sorted(site for site in needed if self.registry.state_of(site, now) != "alive")

    # --- who belongs to it ------------------------------------------------------------------------------------

    def token(self, site: str, seconds: float = 3600.0, hosts: Sequence[str] = ()) -> str:
        """A token by which a site may join, once, within a time."""
        return self.members.token(site, seconds, hosts)

    def ca(self) -> str:
        """The certificate by which sites know the coordinator."""
        return self.members.authority.ca_pem.decode()

    def join(self, token: str, csr: str) -> dict[str, Any]:
        """A site joins: its certificate, and what it needs to go on."""
        with self._lock:
            site, certificate = self.members.join(token, csr.encode())
            self.registry.admit(site)
            self._let_in()
            self._want(principals=self.members.principals())
        return {
            "site": site,
            "certificate": certificate.decode(),
            "ca": self.ca(),
            "verifying_key": self.members.authority.verifying_key,
            "port": self.port,
        }

    def revoke(self, site: str) -> dict[str, Any]:
        """Shut a site out: of the coordinator at once, and of all others as soon as they hear of it."""
        with self._lock:
            if site not in self.members.sites():
                raise unknown("site", site, self.members.sites())
            self.members.revoke(site)
            self.registry.forget(site)
            addresses = {name: one for name, one in self._desired.addresses.items() if name != site}
            self._want(principals=self.members.principals(), addresses=addresses)
            self._let_in()
            return {"revoked": site, "epoch": self._desired.epoch}

    def _let_in(self) -> None:
        if self._server is not None:
            self._server.reconfigure(self.members.principals())

    # --- what sites tell --------------------------------------------------------------------------------------

    def _reported(self, subject: str, payload: bytes) -> None:
        """A report has come. Its subject tells whose it is: the server lets nobody use another's."""
        site = self.members.called(subject.split(".")[2])
        if site is None:
            self.registry.refused += 1
            return
        try:
            report = report_of(site, payload)
        except DataError:
            self.registry.refused += 1
            return
        with self._lock:
            self.registry.take(report, self.clock())

    def _move_told(self, subject: str, payload: bytes) -> None:
        """A site tells how far it is with a move."""
        site = self.members.called(subject.split(".")[2])
        try:
            if site is None:
                raise DataError("a report comes from nobody.")
            told = told_of(site, payload)
        except DataError:
            self.registry.refused += 1
            return
        with self._lock, suppress(TradewindError):
            self.registry.version += 1
            self._lead.take(told)
            self._lead_on()

    def _renew(self, subject: str, payload: bytes) -> None:
        """A site wants another certificate, in time before the one is over by which it speaks to us."""
        site = self.members.called(subject.split(".")[2])
        try:
            if site is None:
                raise DataError("a request comes from nobody.")
            told = renewing.renewed(site, payload, self.members.renew)
        except InputError:
            self.registry.refused += 1
            return
        with suppress(RunError):
            self._wired.publish(*told)

    def _answered(self, subject: str, payload: bytes) -> None:
        site = self.members.called(subject.split(".")[2])
        if site is not None:
            self._questions.answered(site, payload)


def _plain_name(called: str) -> str:
    """The name of a file, whatever path it was given by."""
    name = Path(called).name
    if not name or name.startswith("."):
        raise InputError(f"{called!r} is no name of a deployment.", hint="such as shop.yaml.")
    return name

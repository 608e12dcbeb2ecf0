"""What goes wrong with one machine, and those who may not: a full disk, a wrong clock, a damaged checkpoint, strangers,
nonsense, somebody from before, and a site that is shut out and comes back.
"""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.clusters import COMMAND
from tests.faults import strangers
from tests.faults.bed import Bed
from tests.faults.checking import not_final, settled
from tests.faults.strangers import as_coordinator, at_coordinator, authority, identity, leaf_of, let_in, nonsense
from tests.tiers import TIER, Tier
from tradewind.backbone import catalog
from tradewind.backbone.channels import Publisher
from tradewind.backbone.connection import Connection
from tradewind.backbone.leaf import Neighbour, link_password
from tradewind.backbone.link_protocol import subject
from tradewind.backbone.settings import former
from tradewind.errors import RunError, TradewindError
from tradewind.runtime.cluster.control import report_subject
from tradewind.runtime.cluster.orders import answer_subject, order_subject
from tradewind.runtime.cluster.reports import SiteReport
from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(1800)]

_SKEWED = """
import time
right = time.time
time.time = lambda: right() + {}
"""
"""Another clock for all that we do ourselves, where libfaketime, which gives Java one too, is not installed, or takes
too long.
"""
_FAKE = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None) if TIER is Tier.ALL else None
_SLEEPING = """
import select, time
time.sleep = lambda seconds: select.select([], [], [], seconds)
"""
"""Under libfaketime the system refuses how Python sleeps; other waits are fine, Java's too with the settings below."""
_VERBS = ("exists", "head", "commits", "message", "subscribe", "read_to", "ping", "nothing")


def test_one_machine_and_those_who_may_not(tmp_path, subtests):
    with Bed(tmp_path, seed=2, shops=("north",), small={"north": 160}) as bed:
        more = (_from_before,) if TIER is Tier.ALL else ()
        for step in (_no_stranger, _nobody_speaks_for_another, _nonsense, _full_disk, _wrong_clocks, _damaged, *more,
                     _shut_out):  # fmt: skip
            with subtests.test(step.__name__.strip("_").replace("_", " ")):
                step(bed)
                bed.market.sell()
                bed.caught_up(240)
        with subtests.test("in the end"):
            bed.market.close()
            bed.until(lambda: not not_final(bed), 60, "all is final")
            assert not settled(bed)


def _no_stranger(bed: Bed) -> None:
    """Only who has a certificate that is good now, from this authority, and belongs to the cluster, is let in."""
    folder = bed.folder / "strangers"
    elsewhere = Authority.open(folder / "elsewhere")
    contexts: dict[str, ssl.SSLContext] = {
        "no certificate": strangers.nobody(bed),
        "one that is over": identity(authority(bed, days_ago=30), "hq", folder / "over", days=1).client_context(),
        "one of nobody's": identity(authority(bed), "elsewhere", folder / "other").client_context(),
    }
    false = identity(elsewhere, "hq", folder / "false").client_context()
    false.load_verify_locations(cadata=authority(bed).ca_pem.decode())
    contexts["one of another authority's"] = false
    for what, context in contexts.items():
        assert not let_in(context, leaf_of(bed, "north")), what
        with pytest.raises(TradewindError):
            at_coordinator(bed, context, "hq").close()
    own = Identity.load(bed.state_of("hq") / "identity")
    assert own is not None
    assert let_in(own.client_context(), leaf_of(bed, "north"))


def _nobody_speaks_for_another(bed: Bed) -> None:
    """With a shop's certificate nothing is said in the name of headquarters, and nothing is heard that is for them."""
    own = Identity.load(bed.state_of("north") / "identity")
    assert own is not None
    heard: list[bytes] = []
    connection = at_coordinator(bed, own.client_context(), "north")
    try:
        false = SiteReport(site="hq", agent="stranger", number=1 << 40, epoch=0, state="failed", problem="planted")
        connection.publish(report_subject("hq"), false.encoded())
        with suppress(TradewindError):
            connection.subscribe(order_subject("hq"), lambda _, payload: heard.append(payload))
        bed.client.get("/v1/queries/large/rows?limit=1")
        time.sleep(2)
    finally:
        connection.close()
    assert bed.status()["sites"]["hq"]["problem"] is None
    assert not heard


def _nonsense(bed: Bed) -> None:
    """On every subject that somebody listens to: it is refused, and all goes on."""
    refused = bed.status()["coordinator"]["refused_reports"]
    own = Identity.load(bed.state_of("north") / "identity")
    assert own is not None
    _sent(lambda: as_coordinator(bed), order_subject("north"), order_subject("hq"))
    told = report_subject("north"), answer_subject("north")
    _sent(lambda: at_coordinator(bed, own.client_context(), "north"), *told)
    _sent(lambda: _neighbour(bed, "hq", "north"), *(subject("north", verb) for verb in _VERBS))
    bed.until(lambda: bed.status()["coordinator"]["refused_reports"] > refused, 20, "reports are refused")
    assert len(bed.client.get("/v1/queries/large/rows?limit=2")["rows"]) == 2
    assert set(_alive(bed)) == {"north", "hq"}


def _sent(opened: Callable[[], Connection], *subjects: str) -> None:
    connection = opened()
    try:
        for number, one in enumerate(subjects):
            for payload in nonsense(number, 40):
                connection.publish(one, payload)
    finally:
        connection.close()


def _neighbour(bed: Bed, site: str, far: str) -> Connection:
    """Whoever has got hold of a site's server, and asks another over the link."""
    found = former((bed.state_of(site) / "backbone").resolve())
    assert found is not None
    who = Neighbour(far, f"{far}.site.tradewind")
    with bed.net.inside(site):
        return Connection.open(f"nats://{who.user}:{link_password(found.secret, who)}@127.0.0.1:{found.port}")


def _alive(bed: Bed) -> list[str]:
    return [site for site, one in bed.status()["sites"].items() if one["state"] == "alive"]


def _full_disk(bed: Bed) -> None:
    """A site whose disk is full says so, and goes on when there is room again."""
    if not bed.small:
        pytest.skip("a small disk needs root")
    filler = bed.state_of("north") / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"\0" * 65_536):
            pass
    try:
        for _ in range(3):
            bed.market.sell()
            time.sleep(2)
        bed.until(lambda: _problem(bed, "north") is not None, 90, "a full disk is told of")
    finally:
        filler.unlink()


def _wrong_clocks(bed: Bed) -> None:
    """Agents whose clocks are an hour wrong, either way, change nothing."""
    skewed = {"north": 3_600, "hq": -3_600} if TIER is Tier.ALL else {"hq": -3_600}
    for site, seconds in skewed.items():
        folder = bed.folder / f"clock of {site}"
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(_SKEWED.format(seconds) if _FAKE is None else _SLEEPING)
        bed.end(site)
        bed.more[site] = {"PYTHONPATH": str(folder)}
        if _FAKE is not None:
            passing = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}
            bed.more[site] |= {"LD_PRELOAD": str(_FAKE), "FAKETIME": f"{seconds:+}s", **passing}
        bed.agent(site)
        bed.more.pop(site)
    bed.market.sell()
    bed.caught_up(480)  # Java is slow under libfaketime
    if _FAKE is not None:
        assert {site: 3_600 * round(_ahead(bed, site) / 3_600) for site in skewed} == skewed


def _ahead(bed: Bed, site: str) -> float:
    """By how many seconds Java's clock is ahead of the disk's, when it began its last batch."""
    begun = (bed.runs_of(site) / "fragments").glob("*/offsets/offsets/[0-9]*")
    newest = max(begun, key=lambda one: one.stat().st_mtime_ns)
    return float(json.loads(newest.read_text().splitlines()[1])["batchTimestampMs"]) / 1000 - newest.stat().st_mtime


def _damaged(bed: Bed) -> None:
    """A site whose checkpoint was damaged says so and delivers nothing wrong; with a sound one it goes on."""
    bed.kill("hq")
    state = next((bed.runs_of("hq") / "fragments").iterdir())
    kept = bed.folder / "kept"
    shutil.copytree(state, kept, symlinks=True)
    newest = max((state / "memory" / "commits").iterdir(), key=lambda one: one.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:20])
    bed.market.sell()
    bed.agent("hq")
    try:
        bed.until(lambda: _problem(bed, "hq") is not None, 120, "what is damaged is told of")
        assert not [one for one in bed.market.differences() if "large has" in one]
    finally:
        bed.kill("hq")
        shutil.rmtree(state)
        shutil.copytree(kept, state, symlinks=True)
        bed.agent("hq")


def _problem(bed: Bed, site: str) -> str | None:
    one = bed.status()["sites"][site]
    found: str | None = one["problem"] if one["state"] == "alive" else None
    return found


def _from_before(bed: Bed) -> None:
    """Who wakes up after another has taken over cannot write any more, and nobody runs a site twice in a folder."""
    bed.kill("north")
    bed.agent("north")
    bed.market.sell()
    bed.caught_up(240)
    connection = bed.connected("north")
    try:
        found = [one for one in catalog.channels(connection, bed.runs_of("north").name) if one.batches]
        for one in found:
            with pytest.raises(RunError, match="is over"):
                Publisher(connection, one.address, next(iter(bed.status()["sites"]["north"]["fragments"])), 1)
    finally:
        connection.close()
    assert found
    words = ["agent", "--site", "north", "--root", str(bed.folder), "--state", str(bed.state_of("north"))]
    again = subprocess.run(
        [*bed.net.words("north"), *COMMAND, *words, *bed.net.listening("north")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert again.returncode == 2
    assert "another process runs its nats-server there" in again.stderr


def _shut_out(bed: Bed) -> None:
    """A site that is shut out is heard by nobody any more, and comes back by a new token alone."""
    epoch = bed.client.post("/v1/sites/north/revoke", {})["epoch"]
    bed.until(lambda: bed.status()["sites"]["hq"].get("epoch", 0) >= epoch, 30, "headquarters hear of it")
    time.sleep(3)  # what was on its way has come
    delivered = bed.market.delivered()
    bed.market.sell()
    time.sleep(8)
    assert bed.market.delivered() == delivered, "rows of a site that was shut out have come"
    assert "north" not in bed.read()
    bed.end("north")
    bed.join("north")

"""Each fault by itself, then a seeded mix of them, then a planted bug: the answer is the one without faults, and if
it were not, the checker would see it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.bed import AGENT_WITHIN, LINK_WITHIN, Bed
from tests.faults.checking import Watch, not_final, settled, verdict
from tests.faults.faults import KINDS, Fault, Injector, drawn, one_by_one, one_of_each
from tests.faults.network import why_not
from tests.tiers import TIER, Tier

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(1800)]

ROUNDS = int(os.environ.get("TRADEWIND_FAULT_ROUNDS", "20"))
"""`./dev bench mix` plays many more."""
SEED = int(os.environ.get("TRADEWIND_FAULT_SEED", "7"))
_PLANTED = """
import sys
if "agent" in sys.orig_argv:
    from tradewind.backbone import pump
    honest = pump._Session._wanted
    pump._Session._wanted = lambda self, commit: honest(self, commit) and commit.batch % 2 == 0
"""
"""A pump that leaves out every second batch."""
_SEEN = {"misses", "right behind", "holds"}
"""What is to be said of it: rows are missing, batches do not follow each other, and copies of channels differ."""


def test_faults_leave_the_answer_as_it_is(tmp_path, subtests):
    if (reason := why_not()) is not None:
        sys.stderr.write(f"links are ports of this machine: {reason}\n")
    with Bed(tmp_path) as bed:
        watch = Watch(bed)
        bed.market.sell()
        usual = bed.caught_up(120)
        for faults in ((fault,) for fault in one_by_one(bed)) if TIER is Tier.ALL else one_of_each(bed):
            with subtests.test(", ".join(f"{fault.kind} {fault.target}" for fault in faults)):
                _happen(bed, watch, faults, usual)
        if TIER is Tier.ALL:
            with subtests.test(f"a mix of {ROUNDS} from seed {SEED}"):
                Injector(bed, look=watch.look).play(drawn(SEED, ROUNDS, bed))
                bed.market.sell()
                bed.caught_up(120)
        with subtests.test("in the end"):
            bed.market.close()
            bed.until(lambda: not not_final(bed), 60, "all is final")
            assert not settled(bed, watch)
        if TIER is Tier.ALL:
            with subtests.test("a planted bug is seen"):
                _plant(bed, tmp_path / "planted")
                bed.until(lambda: _seen(verdict(bed)) == _SEEN, 90, f"the checker sees {_SEEN}")


def _happen(bed: Bed, watch: Watch, faults: Sequence[Fault], usual: float) -> None:
    """Faults happen, and all is well again soon after they are mended: so much later than usual, and no more."""
    Injector(bed, look=watch.look).play(faults)
    bed.market.sell()
    # Where starting takes longer, because the machine is busy, so does starting again.
    has_agents = any(KINDS[fault.kind].agent for fault in faults)
    limit = (max(AGENT_WITHIN, bed.started_within) if has_agents else LINK_WITHIN) + 2 * usual
    took = bed.caught_up(6 * limit)
    if took > limit:
        # Nothing is wrong any more: if rows still take longer than usually, that is because the machine is busy.
        bed.market.sell()
        now = bed.caught_up(120)
        busy = max(1.0, now / usual)
        assert took <= limit * busy, f"recovered after {took:.1f} s; rows take {usual:.1f} s, and now {now:.1f} s"
    assert not watch.wrong
    bed.until(lambda: not watch.left_over(), 15, f"nothing is left over: {watch.left_over()}")


def _plant(bed: Bed, folder: Path) -> None:
    """Let headquarters' agent be one that loses batches, and sell meanwhile."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_PLANTED)
    bed.end("hq")
    bed.more["hq"] = {"PYTHONPATH": str(folder)}
    bed.agent("hq")
    bed.until_state("running")
    for _ in range(4):
        rows = sum(one["rows"] for one in bed.read().values())
        bed.market.sell()
        bed.until(lambda: sum(one["rows"] for one in bed.read().values()) > rows, 60, "it is read")  # noqa: B023


def _seen(found: list[str]) -> set[str]:
    return {word for word in _SEEN if any(word in one for one in found)}

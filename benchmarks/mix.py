"""A seeded mix of faults on clusters of real processes, again and again: the answer is the one without faults.

./dev bench mix [--rounds 500] [--each 20] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests import short_lived
from tests.faults.bed import Bed
from tests.faults.checking import Watch, not_final, settled
from tests.faults.faults import Injector, drawn
from tests.faults.network import why_not


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--each", type=int, default=20, help="faults of one cluster, before all of it is checked")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quiet", action="store_true", help="do not tell of each fault")
    given = parser.parse_args()
    short_lived.java()
    print(f"sites are {'in network namespaces' if why_not() is None else f'ports of this machine: {why_not()}'}")
    begin, done, wrong = time.perf_counter(), 0, 0
    kinds: Counter[str] = Counter()
    seed = given.seed
    while done < given.rounds:
        count = min(given.each, given.rounds - done)
        found, played = _one_cluster(seed, count, quiet=given.quiet)
        done, wrong = done + count, wrong + bool(found)
        kinds += played
        for said in found[:20]:
            print(f"seed {seed}: {said}")
        print(f"{done} faults, {wrong} clusters wrong, {time.perf_counter() - begin:.0f} s", flush=True)
        seed += 1
    print(", ".join(f"{kind}: {count}" for kind, count in sorted(kinds.items())))
    return 1 if wrong else 0


def _one_cluster(seed: int, count: int, *, quiet: bool) -> tuple[list[str], Counter[str]]:
    """What is wrong with a cluster to which so many faults have happened, and of which kinds they were."""
    with tempfile.TemporaryDirectory() as temporary, Bed(Path(temporary), seed) as bed:
        watch = Watch(bed)
        faults = drawn(seed, count, bed)
        Injector(bed, (lambda _: None) if quiet else print, watch.look).play(faults)
        bed.market.sell()
        try:
            bed.caught_up(300)
            bed.market.close()
            bed.until(lambda: not not_final(bed), 60, "all is final")
        except AssertionError as error:
            return [str(error)], Counter(one.kind for one in faults)
        return settled(bed, watch), Counter(one.kind for one in faults)


if __name__ == "__main__":
    sys.exit(main())

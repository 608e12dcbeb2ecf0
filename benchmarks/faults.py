"""Kill -9 of a run over four sites at random moments, again and again: the answer is the one without faults.

./dev bench faults [--kills 200] [--each 10]
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sites.killing import finish, kill_after
from tests.sites.shops import Shops


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--each", type=int, default=10, help="kills of one deployment, before it may end")
    given = parser.parse_args()
    begin = time.perf_counter()
    for seed in range(-(-given.kills // given.each)):
        chance = random.Random(seed)
        with tempfile.TemporaryDirectory() as temporary:
            shops = Shops(Path(temporary), seed)
            for _ in range(given.each):
                kill_after(shops, chance.uniform(0, 8))
            finish(shops)
            shops.check()
        kills, seconds = (seed + 1) * given.each, time.perf_counter() - begin
        print(f"{kills} kills, {seed + 1} answers right, {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()

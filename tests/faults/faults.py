"""Faults as data, schedules of them drawn from a seed, and what makes them happen on a test bed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from tests.faults.bed import Bed
from tests.faults.network import COORDINATOR

Link = tuple[str, str]
_SELL = 1.0
"""Seconds between two files of sales while faults happen."""
_FLAP = 0.7
_SLOW_KBIT = 64


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong: when it begins, for how long, what it is, and to whom it happens: a site, or the two
    ends of a link as `from-to`. Chance, where there is some, comes from the seed.
    """

    start: float
    duration: float
    kind: str
    target: str
    seed: int = 0

    @property
    def link(self) -> Link:
        one, _, two = self.target.partition("-")
        return one, two

    @property
    def end(self) -> float:
        return self.start + self.duration


Action = Callable[[Bed, Fault], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: how it begins, how it is mended, how long it lasts at most in a mix, and whether it happens to
    agents, whose recovery may take longer than that of links.
    """

    begin: Action
    mend: Action
    longest: float
    agent: bool = False
    on: str = "site"
    flapping: bool = False


def _kill_agent(bed: Bed, fault: Fault) -> None:
    bed.kill(fault.target)


def _start_agent(bed: Bed, fault: Fault) -> None:
    bed.agent(fault.target)


def _kill_coordinator(bed: Bed, _: Fault) -> None:
    bed.kill(COORDINATOR)


def _start_coordinator(bed: Bed, _: Fault) -> None:
    bed.lead()


def _kill_server(bed: Bed, fault: Fault) -> None:
    with suppress(ProcessLookupError):
        os.kill(bed.server(fault.target), signal.SIGKILL)


def _kill_below(text: str) -> Action:
    def kill(bed: Bed, fault: Fault) -> None:
        found = bed.started_by(fault.target, text)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    return kill


def _stop_agent(bed: Bed, fault: Fault) -> None:
    bed.processes[fault.target].send_signal(signal.SIGSTOP)


def _continue_agent(bed: Bed, fault: Fault) -> None:
    bed.processes[fault.target].send_signal(signal.SIGCONT)


def _cut(bed: Bed, fault: Fault) -> None:
    bed.net.cut(fault.link)


def _cut_one_way(bed: Bed, fault: Fault) -> None:
    bed.net.cut(fault.link, both=False)


def _slow(bed: Bed, fault: Fault) -> None:
    bed.net.slow(fault.link, _SLOW_KBIT)


def _heal(bed: Bed, fault: Fault) -> None:
    bed.net.heal(fault.link)


def _nothing(_: Bed, __: Fault) -> None:
    """It mends itself."""


KINDS = {
    "kill agent": Kind(_kill_agent, _start_agent, 3.0, agent=True),
    "kill coordinator": Kind(_kill_coordinator, _start_coordinator, 5.0, on="coordinator"),
    "kill nats-server": Kind(_kill_server, _nothing, 1.0),
    "kill java": Kind(_kill_below("org.apache.spark"), _nothing, 1.0, agent=True),
    "kill worker": Kind(_kill_below("-m tradewind.spark.daemon"), _nothing, 1.0, agent=True),
    "stop agent": Kind(_stop_agent, _continue_agent, 13.0, agent=True),
    "cut": Kind(_cut, _heal, 8.0, on="link"),
    "cut one way": Kind(_cut_one_way, _heal, 8.0, on="link"),
    "flap": Kind(_cut, _heal, 6.0, on="link", flapping=True),
    "slow": Kind(_slow, _heal, 8.0, on="link"),
}


def drawn(seed: int, rounds: int, bed: Bed) -> list[Fault]:
    """So many faults, one or two at a time: each begins while the one before it lasts, or soon after."""
    chance = random.Random(seed)
    links = [(a, b) for shop in bed.market.shops for a, b in ((shop, "hq"), ("hq", shop)) if bed.net.has((a, b))]
    found: list[Fault] = []
    now = 0.0
    for _ in range(rounds):
        name = chance.choice(sorted(KINDS))
        kind = KINDS[name]
        target = {
            "site": chance.choice(bed.market.sites), "link": "-".join(chance.choice(links)), "coordinator": COORDINATOR
        }[kind.on]  # fmt: skip
        start = now + chance.uniform(0.0, 4.0)
        # What is broken already is not broken again meanwhile: it has no processes, or two cuts and one healing.
        clash = [one.end for one in found if one.target == target or set(one.link) == set(target.split("-"))]
        start = max(start, *(end + 1.0 for end in clash)) if clash else start
        one = Fault(round(start, 2), round(chance.uniform(0.5, kind.longest), 2), name, target, chance.randrange(1000))
        found.append(one)
        now = one.start
    return found


@dataclass
class Injector:
    """Lets faults happen to a bed, while its market goes on."""

    bed: Bed
    say: Callable[[str], None] = lambda _: None
    look: Callable[[], None] = lambda: None
    sold: float = field(default=float("-inf"))

    def play(self, faults: Sequence[Fault]) -> None:
        """Let all of them happen, each at its time; all is mended when this returns."""
        begin = time.perf_counter()
        steps = sorted((moment, number) for number, one in enumerate(faults) for moment in (one.start, one.end))
        going: set[int] = set()
        try:
            for moment, number in steps:
                self._wait_until(begin + moment, [faults[one] for one in going if KINDS[faults[one].kind].flapping])
                one = faults[number]
                kind = KINDS[one.kind]
                self.say(
                    f"{time.perf_counter() - begin:6.1f} s: {'end of ' * (number in going)}{one.kind} {one.target}"
                )
                if number in going:
                    going.discard(number)
                    kind.mend(self.bed, one)
                else:
                    going.add(number)
                    kind.begin(self.bed, one)
        except BaseException:
            for number in going:
                with suppress(Exception):
                    KINDS[faults[number].kind].mend(self.bed, faults[number])
            raise

    def _wait_until(self, moment: float, flapping: list[Fault]) -> None:
        """Sell meanwhile, and let links flap."""
        swings = [(fault, random.Random(fault.seed)) for fault in flapping]
        while (now := time.perf_counter()) < moment:
            if now - self.sold >= _SELL:
                self.sold = now
                self.bed.market.sell()
            for fault, chance in swings:
                (self.bed.net.cut if chance.random() < 0.5 else self.bed.net.heal)(fault.link)
            self.look()
            time.sleep(min(0.2 if not swings else _FLAP, max(0.0, moment - now)))


def one_of_each(bed: Bed) -> Iterator[tuple[Fault, ...]]:
    """One fault of each kind in little time: faults of links happen while processes elsewhere are killed."""
    shop, other = bed.market.shops[0], bed.market.shops[-1]
    yield Fault(0.5, 4.0, "cut", f"{shop}-hq"), Fault(1.0, 0.5, "kill nats-server", other)
    yield Fault(0.5, 4.0, "cut one way", f"hq-{other}"), Fault(1.0, 0.5, "kill worker", "hq")
    yield Fault(0.5, 5.0, "flap", f"{other}-hq", seed=3), Fault(0.5, 3.0, "kill coordinator", COORDINATOR)
    yield Fault(0.5, 5.0, "slow", f"{shop}-hq"), Fault(1.0, 0.5, "kill java", other)
    yield (Fault(0.5, 13.0, "stop agent", shop),)
    yield (Fault(0.5, 1.0, "kill agent", "hq"),)


def one_by_one(bed: Bed) -> Iterator[Fault]:
    """Faults of each kind, in both directions of a link and at several sites where that makes a difference."""
    shop, other = bed.market.shops[0], bed.market.shops[-1]
    yield Fault(0.5, 6.0, "cut", f"{shop}-hq")
    yield Fault(0.5, 6.0, "cut one way", f"{shop}-hq")
    yield Fault(0.5, 6.0, "cut one way", f"hq-{other}")
    yield Fault(0.5, 6.0, "flap", f"{other}-hq", seed=3)
    yield Fault(0.5, 6.0, "slow", f"{shop}-hq")
    yield Fault(0.5, 0.5, "kill nats-server", shop)
    yield Fault(0.5, 0.5, "kill nats-server", "hq")
    yield Fault(0.5, 0.5, "kill worker", "hq")
    yield Fault(0.5, 13.0, "stop agent", "hq")
    yield Fault(0.5, 3.0, "kill coordinator", COORDINATOR)
    yield Fault(0.5, 0.5, "kill java", other)
    yield Fault(0.5, 1.0, "kill agent", "hq")
    yield Fault(0.5, 1.0, "kill agent", shop)

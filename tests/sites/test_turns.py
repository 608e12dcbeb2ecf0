"""Fragments take turns, and nobody waits for ever; channels keep what a file says."""

import threading
import time

from tests.sites.shops import FILE
from tradewind.backbone.channels import Limits
from tradewind.frontends.deployment.check import load
from tradewind.runtime.turns import Turns
from tradewind.runtime.wiring import limits_of


def test_no_more_work_at_once_than_there_are_places() -> None:
    turns, lock = Turns(2), threading.Lock()
    working, most = 0, 0

    def work() -> None:
        nonlocal working, most
        with turns.taken():
            with lock:
                working += 1
                most = max(most, working)
            threading.Event().wait(0.02)
            with lock:
                working -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == 2


def test_who_has_waited_long_enough_goes_ahead_and_frees_no_place_of_others() -> None:
    turns = Turns(1, patience=1.5)
    with turns.taken():
        for _ in range(2):
            begin = time.perf_counter()
            with turns.taken():
                assert time.perf_counter() - begin > 1.49, "the place is still taken"
    begin = time.perf_counter()
    with turns.taken():
        assert time.perf_counter() - begin < 1.49, "the place is free again"


def test_channels_keep_what_the_file_says() -> None:
    said = "channels: {keep: 1 hour, keep_batches: 7, keep_megabytes: 0.5, most_megabytes: 20}\n"
    assert limits_of(load(FILE + said).channels) == Limits(20_000_000, 3600.0, 7, 500_000)
    assert limits_of(load(FILE).channels) == Limits(1_024_000_000, None, None, 64_000_000)


def test_who_needs_more_places_waits_for_them_and_is_not_passed_by_others() -> None:
    turns, order = Turns(2), []
    inside = threading.Event()

    def work(name: str, places: int) -> None:
        with turns.taken(places):
            order.append(name)
            inside.wait(0.05)

    with turns.taken():
        large = threading.Thread(target=work, args=("large", 9))
        large.start()
        inside.wait(0.05)
        small = threading.Thread(target=work, args=("small", 1))
        small.start()
        inside.wait(0.05)
        assert order == [], "the small one stands behind the large one, which needs all"
    large.join()
    small.join()
    assert order == ["large", "small"]

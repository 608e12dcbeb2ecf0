"""Answers that differ from what they must be are told in words, and folders that hold data are left alone."""

from collections import Counter

import pytest

from tradewind.apps import battalion, feeds, fish
from tradewind.apps.expectation import Expectation, verify
from tradewind.errors import InputError

RIGHT = Expectation({"a": Counter({(1, "x"): 2, (2, None): 1}), "b": Counter()}, rows=3)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"a": Counter({(1, "x"): 2, (2, None): 1}), "b": Counter()}, []),
        ({"a": Counter({(1, "x"): 2, (2, None): 1})}, ["b: there is no answer"]),
        ({"a": Counter({(1, "x"): 2}), "b": Counter()}, ["a: 1 row is missing: (2, None)"]),
        ({"a": Counter({(1, "x"): 3, (2, None): 1}), "b": Counter()}, ["a: 1 row too many: (1, 'x')"]),
        ({"a": Counter(), "b": Counter()}, ["a: 3 rows are missing: (1, 'x'), (2, None)"]),
        (
            {"a": Counter(RIGHT.answers["a"]), "b": Counter({(n,): 1 for n in range(5)})},
            ["b: 5 rows too many: (0,), (1,), (2,), …"],
        ),
        (
            {"a": Counter(RIGHT.answers["a"]), "b": Counter({(1,): -1})},
            ["b: 1 row taken back that was never given: (1,)"],
        ),
        ({**RIGHT.answers, "c": Counter()}, ["c: nobody asked for it"]),
    ],
)
def test_differences_in_words(answers, told):
    assert verify(RIGHT, answers) == told


@pytest.mark.parametrize("app", [feeds, fish, battalion], ids=lambda app: app.__name__)
@pytest.mark.parametrize("scale", [0, -1, 101, float("nan"), float("inf")])
def test_scales_that_make_no_sense_are_refused(tmp_path, app, scale):
    with pytest.raises(InputError, match="scale"):
        app.prepare(tmp_path, 1, scale)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("app", [feeds, fish, battalion], ids=lambda app: app.__name__)
def test_a_folder_that_holds_data_already_is_refused(tmp_path, app):
    found, _ = app.prepare(tmp_path, 1, 0.01)
    assert found.name.startswith(str(tmp_path))
    with pytest.raises(InputError, match="files already"):
        app.prepare(tmp_path, 2, 0.01)

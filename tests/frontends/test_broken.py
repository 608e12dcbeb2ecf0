"""Every broken deployment gives all its problems, each at its line, and nothing else.

The files in `broken/` say themselves what is wrong with them: lines `#! LINE | a part of what is said` at their end.
"""

import pickle
import random
import time
from pathlib import Path

import pytest

from tradewind import deployment
from tradewind.algebra.expressions.parse import forbidden_function
from tradewind.errors import DeploymentError
from tradewind.frontends.deployment.check import load, load_bytes

FILES = sorted((Path(__file__).parent / "broken").glob("*.yaml"))
SLOW = 2.0
"""Seconds of processor time: other processes of a busy machine do not count."""


def _expected(path):
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#! "):
            number, _, what = line[3:].partition(" | ")
            found.append((int(number), what))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_problems_are_found_at_their_lines(path):
    begun = time.process_time()
    with pytest.raises(DeploymentError) as caught:
        deployment(path)
    assert time.process_time() - begun < SLOW
    problems = caught.value.problems
    expected = _expected(path)
    assert [problem.line for problem in problems] == [line for line, _ in expected], problems
    for problem, (_, fragment) in zip(problems, expected, strict=True):
        assert fragment in problem.what
    assert all(problem.where.startswith(f"{path}:{problem.line}:{problem.column}") for problem in problems)
    assert [problem.line for problem in problems] == sorted(problem.line for problem in problems)


def test_there_are_enough_of_them():
    assert len(FILES) >= 60


NOISE = bytes(random.Random(1).choices(range(32, 127), k=100_000))
GENERATED = {
    "ten_megabytes_of_noise": (NOISE * 100, "the file is larger than 5 MB", 1),
    "noise_below_the_limit": (NOISE * 40, "not YAML", None),
    "binary": (bytes(range(256)) * 10, "is not UTF-8", None),
    "not_utf_8": (b"sites:\n  ams: {region: \xff\xfe}\n", "the byte 0xFF is not UTF-8.", 2),
    "latin_1": ("sites:\n  k\xf6ln: {}\n".encode("latin-1"), "the byte 0xF6 is not UTF-8.", 2),
    "utf_16": ("sites: {}\n".encode("utf-16"), "is not UTF-8", 1),
    "nul": (b"sites:\n  a\0b: {}\n", "the character U+0000", 2),
    "escape_sequence": (b"sites: \x1b[2J\n", "the character U+001B", 1),
    "deep_flow_nesting": (b"sites: " + b"[" * 100_000, "nested more than 40 deep", 1),
    "deep_mappings": (b"{a: " * 100_000, "nested more than 40 deep", 1),
    "deep_block_nesting": (b"".join(b" " * n + b"a:\n" for n in range(500)), "nested more than 40 deep", 42),
    "endless_dashes": (b"- " * 100_000, "nested more than 40 deep", 1),
    "too_many_values": (b"-\n" * 1_000_000, "more than 50000 values", 50_000),
    "too_many_sites": (
        b"sites:\n" + b"".join(b"  s%d: {}\n" % n for n in range(200_000)),
        "more than 50000 values",
        None,
    ),
    "unclosed_quote": (b'sites: "' + b"a" * 1_000_000, "not YAML", 1),
    "long_key": (b"a" * 5_000 + b": 1\n", "not YAML", 1),
    "question_marks": (b"? " * 100_000, "nested more than 40 deep", 1),
    "exclamation_marks": (b"!" * 100_000, "tags are not read here", 1),
    "directive": (b"%YAML 9.9\n---\nsites: {}\n", "not YAML", 1),
    "only_anchors": (b"- &a x\n" * 10_000, "anchors and aliases", 1),
}


@pytest.mark.parametrize("name", GENERATED)
def test_texts_that_are_no_deployment_at_all(name):
    data, fragment, line = GENERATED[name]
    begun = time.process_time()
    with pytest.raises(DeploymentError) as caught:
        load_bytes(data, "x.yaml")
    assert time.process_time() - begun < SLOW
    matching = [problem for problem in caught.value.problems if fragment in problem.what]
    assert matching, caught.value.problems[:5]
    assert line is None or matching[0].line == line
    assert len(str(caught.value)) < 100_000


def test_thousands_of_wrong_references_are_not_guessed_at_for_ever():
    boxes = "".join(f"  box{n}: {{box: distinct, in: bax{n}}}\n" for n in range(8_000))
    sites = "".join(f"  - {{between: [site{n}, hq], mbps: 1}}\n" for n in range(3_000))
    text = f"sites: {{hq: {{}}}}\nlinks:\n{sites}streams: {{s: {{schema: a INT, at: {{hq: {{}}}}}}}}\nflow:\n{boxes}"
    begun = time.process_time()
    with pytest.raises(DeploymentError) as caught:
        load(text)
    assert time.process_time() - begun < 5 * SLOW
    assert len(caught.value.problems) == 200
    assert "The first 200 are listed." in str(caught.value)
    assert caught.value.more >= 3_000
    assert f"… and at least {caught.value.more:,} more" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).more == caught.value.more


@pytest.mark.parametrize("name", ["decode", "any"])
def test_functions_that_are_only_spelt_with_the_same_letters_are_not_suggested(name):
    hint = str(forbidden_function(name).hint)
    assert "did you mean" not in hint
    assert "docs/expressions.md" in hint


@pytest.mark.parametrize(("name", "meant"), [("uper", "upper"), ("lenght", "length"), ("substr1ng", "substring")])
def test_functions_that_are_misspelt_are_suggested(name, meant):
    assert f"did you mean {meant}()" in str(forbidden_function(name).hint)


def test_a_text_with_lone_surrogates_is_refused():
    with pytest.raises(DeploymentError, match=r"U\+D800"):
        load("sites: \ud800")


@pytest.mark.parametrize("path", ["no/such/file.yaml", ".", "a\0b"])
def test_a_file_that_cannot_be_read(path):
    with pytest.raises(DeploymentError) as caught:
        deployment(path)
    assert "cannot be read" in caught.value.problems[0].what

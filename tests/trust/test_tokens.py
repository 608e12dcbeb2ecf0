import base64
import json
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from subprocess import PIPE, Popen
from sys import executable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tradewind.trust.errors import TrustError
from tradewind.trust.tokens import Admission, Token, Tokens, parse

CA = "ab" * 32


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def tokens(tmp_path, clock):
    return Tokens(tmp_path / "trust", CA, clock)


def refused(tokens: Tokens, text: str) -> None:
    """Every refusal is the same to who sees it."""
    with pytest.raises(TrustError) as caught:
        tokens.redeem(text)
    assert str(caught.value) == "this token is not valid. Hint: ask for a new one: tradewind token SITE."
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_token_names_the_site_and_the_authority(tokens):
    token = parse(tokens.issue("eu-dc"))
    assert (token.site, token.fingerprint) == ("eu-dc", CA)
    assert len(base64.urlsafe_b64decode(token.secret + "=")) == 32


def test_a_token_is_good_once(tokens):
    text = tokens.issue("ams")
    assert tokens.redeem(text).site == "ams"
    refused(tokens, text)


def test_a_token_is_good_until_its_time(tokens, clock):
    early, late = tokens.issue("ams", 60), tokens.issue("ams", 60.5)
    clock.now += 60
    refused(tokens, early)
    assert tokens.redeem(late).site == "ams"


def test_tokens_that_are_over_are_forgotten(tokens, clock, tmp_path):
    tokens.issue("ams", 10)
    tokens.issue("hq", 100)
    assert tokens.pending() == [("ams", clock.now + 10), ("hq", clock.now + 100)]
    clock.now += 50
    assert [site for site, _ in tokens.pending()] == ["hq"]
    refused(tokens, Token("ams", "guessed", CA).text)
    kept = json.loads((tmp_path / "trust" / "tokens.json").read_text())
    assert [one["site"] for one in kept["tokens"]] == ["hq"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 31 * 86_400])
def test_a_time_limit_is_a_limit(tokens, seconds):
    with pytest.raises(TrustError, match="30 days"):
        tokens.issue("ams", seconds)


@pytest.mark.parametrize("site", ["", "\ud800", "x" * 5_000])
def test_a_token_needs_a_site(tokens, site):
    with pytest.raises(TrustError, match="name"):
        tokens.issue(site)
    assert tokens.pending() == []


@given(site=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_any_site_can_have_one(tmp_path_factory, site):
    tokens = Tokens(tmp_path_factory.mktemp("trust"), CA, lambda: 0.0)
    assert tokens.redeem(tokens.issue(site)).site == site


@given(data=st.data())
def test_a_token_that_was_changed_is_refused_and_harms_nothing(tmp_path_factory, data):
    tokens = Tokens(tmp_path_factory.mktemp("trust"), CA, lambda: 0.0)
    text = tokens.issue("ams")
    where = data.draw(st.integers(0, len(text) - 1))
    changed = text[:where] + data.draw(st.characters(codec="utf-8") | st.sampled_from("AQgw-_=.")) + text[where + 1 :]
    assume(changed != text)
    refused(tokens, changed)
    refused(tokens, text + data.draw(st.sampled_from(["=", "A", "\n", " "])))
    refused(tokens, text[:where])
    assert tokens.redeem(text).site == "ams"


@given(text=st.text() | st.text().map(lambda one: f"tw1.{one}"))
def test_text_that_is_no_token_is_refused(tmp_path_factory, text):
    refused(Tokens(tmp_path_factory.getbasetemp(), CA, lambda: 0.0), text)


@pytest.mark.parametrize(
    "said",
    [
        [],
        None,
        "ams",
        {},
        {"s": "ams"},
        {"s": 1, "k": 2, "f": 3},
        {"s": "ams", "k": "", "f": CA},
        {"s": {}, "k": [], "f": None},
        {"s": "ams", "k": "a", "f": CA, "more": "x"},
        {"s": "\ud800", "k": "\ud800", "f": "\ud800"},
        "[" * 2_500,
    ],
)
def test_a_token_that_says_something_else_is_refused(tokens, said):
    text = said if isinstance(said, str) and said.startswith("[") else json.dumps(said, separators=(",", ":"))
    refused(tokens, "tw1." + base64.urlsafe_b64encode(text.encode()).decode().rstrip("="))


def test_another_site_or_authority_cannot_be_written_in(tokens):
    text = tokens.issue("ams")
    token = parse(text)
    refused(tokens, Token("hq", token.secret, CA).text)
    refused(tokens, Token("ams", token.secret, "cd" * 32).text)
    refused(tokens, Token("ams", token.secret[::-1], CA).text)
    assert tokens.redeem(text).site == "ams"


def test_a_token_for_another_authority_is_refused(tokens, tmp_path, clock):
    text = tokens.issue("ams")
    refused(Tokens(tmp_path / "trust", "cd" * 32, clock), text)
    refused(Tokens(tmp_path / "elsewhere", CA, clock), text)
    assert tokens.redeem(text).site == "ams"


def test_of_many_threads_one_succeeds(tokens):
    for _ in range(10):
        text, start = tokens.issue("ams"), threading.Barrier(4)

        def attempt(text: str = text, start: threading.Barrier = start) -> bool:
            start.wait()
            try:
                return bool(tokens.redeem(text).site == "ams")
            except TrustError:
                return False

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(lambda _, attempt=attempt: attempt(), range(4))) == 1


REDEEMER = """
import sys
from pathlib import Path
from tradewind.trust.errors import TrustError
from tradewind.trust.tokens import Tokens
tokens = Tokens(Path(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
for text in sys.stdin.read().split():
    try:
        print(tokens.redeem(text).site)
    except TrustError:
        pass
"""


def test_of_two_processes_one_succeeds(tmp_path):
    tokens = Tokens(tmp_path / "trust", CA)
    sites = [f"site-{number}" for number in range(40)]
    texts = "\n".join(tokens.issue(site) for site in sites)
    arguments = [executable, "-c", REDEEMER, str(tmp_path / "trust"), CA]
    with (
        Popen(arguments, stdin=PIPE, stdout=PIPE, text=True) as one,
        Popen(arguments, stdin=PIPE, stdout=PIPE, text=True) as two,
    ):
        for process in (one, two):
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        with ThreadPoolExecutor(2) as both:
            said = list(both.map(lambda process: process.communicate(texts)[0], (one, two)))
    assert sorted("".join(said).split()) == sorted(sites)
    assert tokens.pending() == []


def test_issuing_from_many_threads_loses_none(tokens):
    with ThreadPoolExecutor(4) as threads:
        texts = list(threads.map(lambda number: tokens.issue(f"s{number}"), range(20)))
    assert sorted(tokens.redeem(text).site for text in texts) == sorted(f"s{number}" for number in range(20))


def test_the_secret_is_nowhere_but_in_the_token(tokens, tmp_path):
    text = tokens.issue("ams")
    token = parse(text)
    for path in (tmp_path / "trust").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert token.secret not in path.read_text()
        assert text not in path.read_text()
    assert stat.S_IMODE((tmp_path / "trust").stat().st_mode) == 0o700
    for shown in (repr(token), str(token), f"{token}", repr(tokens), str(vars(tokens))):
        assert token.secret not in shown
        assert text not in shown


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"tokens": [1]}', '{"tokens": [{"hash": 1}]}', "\x00"])
def test_a_damaged_file_is_an_error_and_not_an_empty_one(tokens, tmp_path, content):
    text = tokens.issue("ams")
    (tmp_path / "trust" / "tokens.json").write_text(content)
    with pytest.raises(TrustError, match="damaged"):
        tokens.redeem(text)
    with pytest.raises(TrustError, match="damaged"):
        tokens.pending()


def test_hosts_are_decided_on_when_a_token_is_made(tmp_path):
    tokens = Tokens(tmp_path, "f" * 64)
    text = tokens.issue("ams", hosts=["10.1.2.3", "ams.example.org"])
    assert tokens.redeem(text) == Admission("ams", ("10.1.2.3", "ams.example.org"))
    with pytest.raises(TrustError):
        tokens.issue("ams", hosts=["coordinator.tradewind"])

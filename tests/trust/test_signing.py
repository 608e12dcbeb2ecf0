import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.trust.authority import Authority
from tradewind.trust.errors import TrustError
from tradewind.trust.signing import canonical, verify

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(texts, values, max_size=4)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority.open(tmp_path_factory.mktemp("authority"))


@given(documents)
def test_a_document_has_one_form_whatever_its_order(document):
    turned = dict(reversed(document.items()))
    assert canonical(turned) == canonical(document)
    assert json.loads(canonical(document)) == document


@pytest.mark.parametrize(
    "document", [{"a": float("nan")}, {"a": float("inf")}, {"a": {1}}, {"a": "\ud800"}, {1: 2, "1": 3}]
)
def test_what_is_not_json_is_refused(document):
    with pytest.raises(TrustError, match="JSON"):
        canonical(document)


@given(payload=st.binary(max_size=200))
def test_what_was_signed_is_accepted(authority, payload):
    verify(payload, authority.sign(payload), authority.verifying_key)


@given(payload=st.binary(min_size=1, max_size=200), where=st.integers(0), bit=st.integers(0, 7))
def test_what_was_changed_is_refused(authority, payload, where, bit):
    signature = authority.sign(payload)
    with pytest.raises(TrustError, match="does not fit"):
        verify(flipped(payload, where, bit), signature, authority.verifying_key)
    changed = base64.b64encode(flipped(base64.b64decode(signature), where, bit)).decode()
    with pytest.raises(TrustError, match="does not fit"):
        verify(payload, changed, authority.verifying_key)


def test_an_epoch_cannot_be_put_on_another_plan(authority):
    plan = {"epoch": 7, "plan": {"fragments": ["a"]}}
    signature = authority.sign(canonical(plan))
    verify(canonical({"plan": {"fragments": ["a"]}, "epoch": 7}), signature, authority.verifying_key)
    with pytest.raises(TrustError):
        verify(canonical({**plan, "epoch": 8}), signature, authority.verifying_key)


def test_another_authority_has_another_key(authority, tmp_path):
    other = Authority.open(tmp_path / "other")
    with pytest.raises(TrustError, match="does not fit"):
        verify(b"plan", other.sign(b"plan"), authority.verifying_key)


@pytest.mark.parametrize("signature", ["", "x", "äöü", "AAAA", "=" * 88, "A" * 88, "A" * 10_000])
def test_garbage_is_no_signature(authority, signature):
    with pytest.raises(TrustError, match="does not fit"):
        verify(b"plan", signature, authority.verifying_key)


@pytest.mark.parametrize("key", ["", "x", "äöü", "AAAA", "A" * 64])
def test_garbage_is_no_key(authority, key):
    with pytest.raises(TrustError, match="not a key"):
        verify(b"plan", authority.sign(b"plan"), key)


def flipped(content: bytes, where: int, bit: int) -> bytes:
    where %= len(content)
    return content[:where] + bytes([content[where] ^ (1 << bit)]) + content[where + 1 :]

import ssl
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trust.handshakes import joined, meet
from tradewind.trust import tls
from tradewind.trust.authority import Authority
from tradewind.trust.errors import TrustError
from tradewind.trust.names import COORDINATOR, principal

DAY = 86_400


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority.open(tmp_path_factory.mktemp("trust") / "authority")


@pytest.fixture(scope="module")
def ams(tmp_path_factory, authority):
    return joined(tmp_path_factory.mktemp("ams"), authority, "ams", ["localhost", "127.0.0.1"])


@pytest.fixture(scope="module")
def hq(tmp_path_factory, authority):
    return joined(tmp_path_factory.mktemp("hq"), authority, "hq")


def test_two_sites_meet_and_know_each_other(ams, hq):
    met = meet(hq.server_context(), ams.client_context(), principal("hq"))
    assert met.failure is None
    assert met.names == (principal("ams"), "localhost")
    assert met.version == "TLSv1.3"


def test_a_site_meets_the_coordinator(ams, authority):
    own = authority.own()
    for name in (COORDINATOR, "localhost", "127.0.0.1"):
        assert meet(own.server_context(), ams.client_context(), name).failure is None
    assert meet(ams.server_context(), own.client_context(), principal("ams")).names[0] == COORDINATOR


def test_old_versions_of_tls_are_refused(ams, hq):
    for version, shown in ((ssl.TLSVersion.TLSv1_2, "TLSv1.2"), (ssl.TLSVersion.TLSv1_3, "TLSv1.3")):
        client = ams.client_context()
        client.maximum_version = version
        assert meet(hq.server_context(), client, principal("hq")).version == shown
    assert ams.client_context().minimum_version == hq.server_context().minimum_version == ssl.TLSVersion.TLSv1_2


def test_who_has_another_name_is_refused(ams, hq):
    for name in (principal("other"), COORDINATOR, "localhost"):
        met = meet(hq.server_context(), ams.client_context(), name)
        assert met.failure is not None


def test_a_client_without_a_certificate_is_refused(hq, authority):
    anonymous = tls.joining(authority.ca_pem, authority.fingerprint)
    met = meet(hq.server_context(), anonymous, principal("hq"))
    assert "PEER_DID_NOT_RETURN_A_CERTIFICATE" in str(met.failure)


def test_certificates_of_another_authority_are_refused(tmp_path, ams, hq):
    foreign = joined(tmp_path / "ams", Authority.open(tmp_path / "other"), "ams")
    assert meet(hq.server_context(), foreign.client_context(), principal("hq")).failure is not None
    assert meet(foreign.server_context(), hq.client_context(), principal("ams")).failure is not None
    # Also by a server when the client believes everybody, which tells the two refusals apart.
    gullible = foreign.client_context()
    gullible.check_hostname = False
    gullible.verify_mode = ssl.CERT_NONE
    assert "CERTIFICATE_VERIFY_FAILED" in str(meet(hq.server_context(), gullible, principal("hq")).failure)


def test_certificates_that_are_over_are_refused(tmp_path):
    then = time.time() - 10 * DAY
    past = Authority.open(tmp_path / "authority", clock=lambda: then)
    over, good = joined(tmp_path / "over", past, "ams", days=9), joined(tmp_path / "good", past, "hq", days=11)
    assert over.expires() < time.time() < good.expires()
    at_server = meet(good.server_context(), over.client_context(), principal("hq"))
    assert "expired" in str(at_server.failure)
    assert meet(over.server_context(), good.client_context(), principal("ams")).failure is not None
    assert meet(good.server_context(), good.client_context(), principal("hq")).failure is None


def test_certificates_that_are_not_yet_valid_are_refused(tmp_path):
    authority = Authority.open(tmp_path / "authority")
    later = Authority.open(tmp_path / "authority", clock=lambda: time.time() + 2 * DAY)
    early, good = joined(tmp_path / "early", later, "ams"), joined(tmp_path / "good", authority, "hq")
    assert "not yet valid" in str(meet(good.server_context(), early.client_context(), principal("hq")).failure)


def test_a_site_that_joins_needs_no_certificate_where_none_is_required(ams, authority):
    own = authority.own()
    anonymous = tls.joining(authority.ca_pem, authority.fingerprint)
    met = meet(own.server_context(required=False), anonymous, COORDINATOR)
    assert (met.failure, met.names) == (None, ())
    met = meet(own.server_context(required=False), ams.client_context(), COORDINATOR)
    assert met.names[0] == principal("ams")


def test_where_none_is_required_a_wrong_one_is_refused(tmp_path, authority):
    foreign = joined(tmp_path / "ams", Authority.open(tmp_path / "other"), "ams").client_context()
    foreign.check_hostname = False
    foreign.verify_mode = ssl.CERT_NONE
    assert meet(authority.own().server_context(required=False), foreign, COORDINATOR).failure is not None


def test_a_site_that_joins_believes_the_authority_of_its_token_only(tmp_path, authority):
    impostor = Authority.open(tmp_path / "other")
    with pytest.raises(TrustError, match="not the one"):
        tls.joining(impostor.ca_pem, authority.fingerprint)
    # The right certificate first, the impostor's behind it.
    context = tls.joining(authority.ca_pem + impostor.ca_pem, authority.fingerprint)
    assert meet(impostor.own().server_context(required=False), context, COORDINATOR).failure is not None


@given(wrong=st.text() | st.binary(max_size=100).map(lambda one: one.hex()))
def test_a_hash_that_is_none_is_refused(authority, wrong):
    with pytest.raises(TrustError):
        tls.joining(authority.ca_pem, wrong)


def test_a_certificate_that_is_no_authoritys_is_refused(authority, ams):
    with pytest.raises(TrustError):
        tls.joining(ams.certificate.read_bytes(), authority.fingerprint)


def test_nobody_comes_back_unchecked(ams, hq):
    context = hq.server_context()
    assert context.options & ssl.OP_NO_TICKET
    assert context.num_tickets == 0

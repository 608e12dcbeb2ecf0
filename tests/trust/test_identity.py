import base64
import pickle
import stat

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate, load_pem_x509_csr

from tests.trust.handshakes import joined
from tradewind.trust.authority import Authority
from tradewind.trust.errors import TrustError
from tradewind.trust.identity import Identity, Papers


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority.open(tmp_path_factory.mktemp("trust") / "authority")


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority.open(tmp_path_factory.mktemp("trust") / "other")


def test_a_site_gets_an_identity(tmp_path, authority):
    folder = tmp_path / "ams"
    assert Identity.load(folder) is None
    path, csr = Identity.requested(folder, "ams")
    assert Identity.load(folder) is None
    asked = load_pem_private_key(path.read_bytes(), None)
    assert isinstance(asked, ec.EllipticCurvePrivateKey)
    assert asked.public_key() == load_pem_x509_csr(csr).public_key()
    given = authority.certify(csr, "ams")
    made = Identity.received(folder, "ams", given, authority.ca_pem, authority.verifying_key)
    assert made == Identity.load(folder) == Identity(folder, "ams.site.tradewind")
    assert (made.site, made.verifying_key) == ("ams", authority.verifying_key)
    assert made.certificate.read_bytes() == given
    assert made.ca.read_bytes() == authority.ca_pem
    assert made.expires() == load_pem_x509_certificate(given).not_valid_after_utc.timestamp()
    assert not path.exists()


def test_an_identity_knows_the_hosts_that_it_is_good_for(tmp_path, authority):
    made = joined(tmp_path / "ams", authority, "ams", ["10.1.2.3", "Edge-1.example.org", "::1"])
    assert sorted(made.hosts()) == ["10.1.2.3", "::1", "edge-1.example.org"]
    assert joined(tmp_path / "sin", authority, "sin").hosts() == []


def test_asking_does_not_look_or_make_where_there_is_nothing(tmp_path):
    assert Identity.load(tmp_path / "nothing") is None
    assert not (tmp_path / "nothing").exists()


def test_a_name_of_any_kind_is_remembered(tmp_path, authority):
    made = joined(tmp_path / "z", authority, "Zürich 1")
    assert made.site == "Zürich 1"
    assert made.name.startswith("z-rich-1-x")


def test_the_old_identity_is_good_until_the_new_one_comes(tmp_path, authority):
    old = joined(tmp_path, authority, "ams")
    former = old.certificate.read_bytes(), old.key.read_bytes()
    _, csr = Identity.requested(tmp_path, "ams")
    assert (old.certificate.read_bytes(), old.key.read_bytes()) == former
    old.client_context()
    new = Identity.received(tmp_path, "ams", authority.certify(csr, "ams"), authority.ca_pem, authority.verifying_key)
    assert new.key.read_bytes() != former[1]
    new.client_context()


def test_an_answer_that_is_none_is_refused(tmp_path, authority, other):
    _, csr = Identity.requested(tmp_path, "ams")
    _, foreign = Identity.requested(tmp_path / "foreign", "ams")
    good, ca, key = authority.certify(csr, "ams"), authority.ca_pem, authority.verifying_key
    for why, arguments in {
        "another key": ("ams", authority.certify(foreign, "ams"), ca, key),
        "somebody else": ("ams", authority.certify(csr, "hq"), ca, key),
        "has not made it": ("ams", good, other.ca_pem, key),
        "authority that came": ("ams", good, good, key),
        "not a certificate": ("ams", b"garbage", ca, key),
        "is not a certificate": ("ams", good, b"", key),
        "not a key": ("ams", good, ca, "garbage"),
    }.items():
        with pytest.raises(TrustError, match=why):
            Identity.received(tmp_path, *arguments)
        assert Identity.load(tmp_path) is None
    assert Identity.received(tmp_path, "ams", good, ca, key).site == "ams"


def test_a_certificate_that_was_changed_is_refused(tmp_path, authority):
    _, csr = Identity.requested(tmp_path, "ams")
    der = load_pem_x509_certificate(authority.certify(csr, "ams")).public_bytes(Encoding.DER)
    for where in range(4, len(der) - 80, 7):  # all but the frame and the signature, which has more than one form
        changed = base64.encodebytes(der[:where] + bytes([der[where] ^ 1]) + der[where + 1 :])
        pem = b"-----BEGIN CERTIFICATE-----\n" + changed + b"-----END CERTIFICATE-----\n"
        with pytest.raises(TrustError):
            Identity.received(tmp_path, "ams", pem, authority.ca_pem, authority.verifying_key)
    assert Identity.load(tmp_path) is None


def test_an_answer_without_a_question_is_refused(tmp_path, authority):
    _, csr = Identity.requested(tmp_path / "one", "ams")
    with pytest.raises(TrustError, match="none was asked for"):
        Identity.received(tmp_path / "two", "ams", authority.certify(csr, "ams"), authority.ca_pem, "")


def test_certificates_that_hide_behind_others_are_left_out(tmp_path, authority, other):
    _, csr = Identity.requested(tmp_path, "ams")
    given = authority.certify(csr, "ams")
    made = Identity.received(
        tmp_path, "ams", given + other.ca_pem, authority.ca_pem + other.ca_pem, authority.verifying_key
    )
    assert made.ca.read_bytes() == authority.ca_pem
    assert made.certificate.read_bytes() == given


def test_only_the_owner_can_read_it(tmp_path, authority):
    folder = tmp_path / "ams"
    joined(folder, authority, "ams")
    Identity.requested(folder, "ams")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("name", ["key.pem", "cert.pem", "ca.pem"])
def test_damaged_files_are_explained_without_what_they_hold(tmp_path, authority, name):
    made = joined(tmp_path, authority, "ams")
    (tmp_path / name).write_text("precious")
    for context in (made.client_context, made.server_context):
        with pytest.raises(TrustError, match="cannot be used") as caught:
            context()
        assert "precious" not in str(caught.value)


def test_a_damaged_description_is_explained(tmp_path, authority):
    joined(tmp_path, authority, "ams")
    (tmp_path / "identity.json").write_text("{}")
    with pytest.raises(TrustError, match="damaged"):
        Identity.load(tmp_path)


def test_nothing_secret_is_shown(tmp_path, authority):
    made = joined(tmp_path, authority, "ams")
    secret = made.key.read_text().splitlines()[1]
    papers = Papers("a", "a", made.key.read_bytes(), b"", b"", "")
    for shown in (repr(made), str(made), repr(papers), str(papers), pickle.dumps(made).decode("latin-1")):
        assert secret not in shown

import base64
import ipaddress
import itertools
import json
import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID
from hypothesis import example, given
from hypothesis import strategies as st

from tests.trust.requests import greedy, with_wrong_keys
from tradewind.trust.authority import Authority
from tradewind.trust.certificates import requested_key
from tradewind.trust.errors import TrustError
from tradewind.trust.identity import Identity
from tradewind.trust.names import COORDINATOR

DAY = 86_400


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority.open(tmp_path_factory.mktemp("trust") / "authority")


@pytest.fixture(scope="module")
def csr(tmp_path_factory):
    return Identity.requested(tmp_path_factory.mktemp("site"), "ams")[1]


def as_pem(der: bytes) -> bytes:
    body = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{body}-----END CERTIFICATE REQUEST-----\n".encode()


def read(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def names_of(one: x509.Certificate) -> list[object]:
    found = one.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [name.value for name in found]


def test_it_is_the_same_when_it_is_opened_again(tmp_path):
    one, two = Authority.open(tmp_path / "a"), Authority.open(tmp_path / "a")
    assert (one.ca_pem, one.fingerprint, one.verifying_key) == (two.ca_pem, two.fingerprint, two.verifying_key)
    assert one.sign(b"plan") == two.sign(b"plan")
    assert Authority.open(tmp_path / "b").fingerprint != one.fingerprint


def test_many_who_open_it_at_once_get_one(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: Authority.open(tmp_path / "a").fingerprint, range(8)))
    assert len(set(found)) == 1


def test_its_certificate_may_sign_and_lasts_ten_years(authority):
    ca = read(authority.ca_pem)
    assert authority.fingerprint == ca.fingerprint(hashes.SHA256()).hex()
    assert len(base64.b64decode(authority.verifying_key)) == 32
    constraints = ca.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert (constraints.value.ca, constraints.value.path_length) == (True, 0)
    assert ca.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    assert timedelta(days=3_652) <= ca.not_valid_after_utc - ca.not_valid_before_utc < timedelta(days=3_653)
    key = ca.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)


def test_only_the_owner_can_read_it(tmp_path):
    folder = tmp_path / "deep" / "authority"
    former = os.umask(0)
    try:
        Authority.open(folder).own()
    finally:
        os.umask(former)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_a_folder_that_others_can_read_is_closed(tmp_path):
    tmp_path.chmod(0o755)
    Authority.open(tmp_path)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_certificate_is_for_the_site_and_its_hosts(authority, csr):
    made = read(authority.certify(csr, "ams", ["edge.example.org", "10.0.0.7", "::1", "EDGE.example.org"]))
    assert names_of(made) == [
        "ams.site.tradewind",
        "edge.example.org",
        ipaddress.ip_address("10.0.0.7"),
        ipaddress.ip_address("::1"),
    ]
    made.verify_directly_issued_by(read(authority.ca_pem))
    assert made.public_key() == x509.load_pem_x509_csr(csr).public_key()
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = made.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(usage) == {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH}
    assert not made.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_clocks_may_be_an_hour_behind(authority, csr):
    made = read(authority.certify(csr, "ams", days=2))
    now = time.time()
    assert made.not_valid_before_utc.timestamp() < now - 2 * 3_600
    assert read(authority.ca_pem).not_valid_before_utc.timestamp() < now - 2 * 3_600
    assert abs(made.not_valid_after_utc.timestamp() - now - 2 * DAY) < 60


def test_serial_numbers_are_random(authority, csr):
    assert len({read(authority.certify(csr, "berlin")).serial_number for _ in range(5)}) == 5


def test_another_edition_is_another_name(authority, csr):
    found = read(authority.certify(csr, "ams", edition=2)).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert found.value.get_values_for_type(x509.DNSName) == ["ams.2.site.tradewind"]


def test_names_and_wishes_of_a_request_do_not_count(authority):
    key = ec.generate_private_key(ec.SECP256R1())
    made = read(authority.certify(greedy(key), "ams"))
    assert names_of(made) == ["ams.site.tradewind"]
    assert made.subject.rfc4514_string() == "CN=ams.site.tradewind"
    assert not made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


@pytest.mark.parametrize(("kind", "request_pem"), with_wrong_keys().items(), ids=lambda one: str(one)[:10])
def test_keys_of_other_kinds_are_refused(authority, kind, request_pem):
    with pytest.raises(TrustError, match="P-256"):
        authority.certify(request_pem, f"site-{kind}")


def test_a_request_for_somebody_elses_key_is_refused(authority):
    """The key is put in, but the signature is by another."""
    mine, theirs = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    der = x509.load_pem_x509_csr(greedy(mine)).public_bytes(Encoding.DER)
    points = [key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint) for key in (mine, theirs)]
    assert points[0] in der
    forged = as_pem(der.replace(points[0], points[1]))
    with pytest.raises(TrustError):
        authority.certify(forged, "ams")


@given(garbage=st.binary(max_size=300) | st.binary(max_size=300).map(as_pem))
@example(b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n")
@example(b"A" * 100_000)
def test_garbage_is_refused(authority, garbage):
    with pytest.raises(TrustError, match="not a request"):
        authority.certify(garbage, "ams")


def test_a_request_that_was_changed_is_refused(csr):
    der = x509.load_pem_x509_csr(csr).public_bytes(Encoding.DER)
    accepted = set()
    for where, bit in itertools.product(range(len(der)), range(8)):
        changed = bytearray(der)
        changed[where] ^= 1 << bit
        try:
            key = requested_key(as_pem(bytes(changed)))
        except TrustError:
            continue
        assert key == requested_key(csr)
        accepted.add(where)
    # One byte says how many bits of the signature's last byte do not count, and may say so of bits that are zero.
    assert len(accepted) <= 1


def test_a_certificate_is_no_request(authority):
    with pytest.raises(TrustError, match="not a request"):
        authority.certify(authority.ca_pem, "ams")


@pytest.mark.parametrize("host", [COORDINATOR, "hq.site.tradewind", "*.example.org", "a b", "tradewind", ""])
def test_hosts_must_be_hosts(authority, csr, host):
    with pytest.raises(TrustError):
        authority.certify(csr, "ams", [host])
    with pytest.raises(TrustError):
        authority.own([host])


def test_hosts_are_not_too_many(authority, csr):
    with pytest.raises(TrustError, match="too many"):
        authority.certify(csr, "ams", [f"h{number}" for number in range(65)])


@pytest.mark.parametrize("days", [0, -1, float("nan"), float("-inf")])
def test_a_certificate_lasts(authority, csr, days):
    with pytest.raises(TrustError, match="over before"):
        authority.certify(csr, "ams", days=days)


def test_no_certificate_outlives_the_authority(tmp_path, csr):
    now = time.time()
    authority = Authority.open(tmp_path, clock=lambda: now)
    end = read(authority.ca_pem).not_valid_after_utc
    assert read(authority.certify(csr, "ams", days=float("inf"))).not_valid_after_utc == end
    late = Authority.open(tmp_path, clock=lambda: now + 4_000 * DAY)
    with pytest.raises(TrustError, match="over before"):
        late.certify(csr, "ams")


def test_the_coordinators_own_identity(authority):
    own = authority.own(["hq.example.org", "10.0.0.1"])
    assert (own.name, own.site, own.verifying_key) == (COORDINATOR, "", authority.verifying_key)
    assert names_of(read(own.certificate.read_bytes())) == [
        COORDINATOR,
        "hq.example.org",
        ipaddress.ip_address("10.0.0.1"),
        "localhost",
        ipaddress.ip_address("127.0.0.1"),
    ]
    assert own.ca.read_bytes() == authority.ca_pem


def test_the_coordinators_identity_is_made_anew_when_it_must_be(tmp_path):
    now = time.time()

    def own(*hosts: str, later: float = 0) -> bytes:
        found = Authority.open(tmp_path, clock=lambda: now + later * DAY).own(hosts)
        found.client_context()
        return found.certificate.read_bytes()

    first = own("a", "b")
    assert own("b", "a", "a") == first
    assert own("a", "b", later=334) == first
    moved = own("a")
    assert moved != first
    renewed = own("a", later=336)
    assert renewed != moved
    assert own("a", later=337) == renewed


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace("PRIVATE", "PUBLIC"),
        lambda text: json.dumps({**json.loads(text), "key": json.loads(text)["signing_key"]}),
        lambda text: json.dumps({**json.loads(text), "key": 3}),
    ],
)
def test_a_damaged_authority_is_not_made_anew(tmp_path, damage):
    Authority.open(tmp_path)
    path = tmp_path / "authority.json"
    secret = json.loads(path.read_text())["key"].splitlines()[1]
    path.write_text(damage(path.read_text()))
    before = path.read_text()
    with pytest.raises(TrustError, match="damaged") as caught:
        Authority.open(tmp_path)
    assert str(path) in str(caught.value)
    assert secret not in str(caught.value)
    assert path.read_text() == before


def test_a_folder_that_cannot_be_made_is_explained(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TrustError, match="cannot be read or written") as caught:
        Authority.open(tmp_path / "file" / "authority")
    assert "folder of their own" in str(caught.value)


def test_nothing_secret_is_shown(authority):
    for shown in (repr(authority), str(authority), repr(vars(authority))):
        for secret in secrets(authority.folder):
            assert secret not in shown


def secrets(folder: Path) -> list[str]:
    document = json.loads((folder / "authority.json").read_text())
    # The first line only: behind the private half follows the public one, which certificates show too.
    return [document[name].splitlines()[1] for name in ("key", "signing_key")]

"""Certificates and requests for them: how they are made here, and what is accepted from others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tradewind.trust.errors import TrustError
from tradewind.trust.names import DOMAIN, host

DAY = 86_400.0
# The clocks of sites differ by up to an hour; what was made just now must be valid everywhere.
BACK = 3 * 3_600.0
_LONGEST = 32_768
_MOST_HOSTS = 64
# What reading somebody else's bytes may raise: these errors have no base of their own.
_UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    InvalidSignature,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authority's certificate and the key that signs in its name, which is never shown."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def __repr__(self) -> str:
        return f"Issuer({fingerprint(self.certificate)[:16]})"

    def issue(
        self, key: ec.EllipticCurvePublicKey, name: str, hosts: Sequence[str], now: float, days: float
    ) -> x509.Certificate:
        """A certificate for somebody who is called `name` and listens at these hosts; it ends with the authority's."""
        end = min(now + days * DAY, self.certificate.not_valid_after_utc.timestamp())
        if not (days > 0 and end > now):
            raise TrustError(
                "the certificate would be over before it is used.",
                where=f"certificate of {name}",
                hint="give days above 0. An authority is over after 10 years: make a new one in another folder.",
            )
        authority = self.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        builder = _begun(_named(name), self.certificate.subject, key, now - BACK, end)
        for extension, critical in (
            (x509.BasicConstraints(ca=False, path_length=None), True),
            (_usage(signs_certificates=False), True),
            (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.SubjectAlternativeName(alternatives(name, hosts)), False),
            (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority), False),
        ):
            builder = builder.add_extension(extension, critical)
        return builder.sign(self.key, hashes.SHA256())


def self_signed(key: ec.EllipticCurvePrivateKey, now: float, days: float) -> x509.Certificate:
    """An authority's own certificate: it may sign those of others, but not make further authorities."""
    name = _named("Tradewind authority")
    builder = _begun(name, name, key.public_key(), now - BACK, now + days * DAY)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def alternatives(name: str, hosts: Sequence[str]) -> list[x509.GeneralName]:
    """All names of a certificate: its own, then those of its hosts, each once."""
    if len(hosts) > _MOST_HOSTS:
        raise TrustError(
            f"{len(hosts)} hosts are too many.", where="hosts of a certificate", hint=f"give at most {_MOST_HOSTS}."
        )
    checked = dict.fromkeys(map(host, hosts))
    return [
        x509.DNSName(name),
        *(x509.DNSName(one) if isinstance(one, str) else x509.IPAddress(one) for one in checked),
    ]


def request(key: ec.EllipticCurvePrivateKey, name: str) -> bytes:
    """A request for a certificate, as PEM."""
    made = x509.CertificateSigningRequestBuilder().subject_name(_named(name)).sign(key, hashes.SHA256())
    return made.public_bytes(serialization.Encoding.PEM)


def requested_key(csr_pem: bytes) -> ec.EllipticCurvePublicKey:
    """The key that a request asks for, whose other half the asker has shown to hold. Nothing else in it counts."""
    refused = TrustError(
        "this is not a request for a certificate with a P-256 key.",
        where="request for a certificate",
        hint="`tradewind agent` makes one by itself.",
    )
    if len(csr_pem) > _LONGEST:
        raise refused
    try:
        found = x509.load_pem_x509_csr(csr_pem)
        key = found.public_key()
        genuine = _is_p256(key) and found.is_signature_valid
    except _UNREADABLE:
        raise refused from None
    if not genuine or not isinstance(key, ec.EllipticCurvePublicKey):
        raise refused
    return key


def certificate(pem: bytes) -> x509.Certificate:
    """The certificate in a PEM text, the first if there are several."""
    refused = TrustError("this is not a certificate.", where="certificate", hint="it must be given as PEM.")
    if len(pem) > _LONGEST:
        raise refused
    try:
        found = x509.load_pem_x509_certificate(pem)
        _ = found.extensions, found.public_key()  # both are read late, and may be what is wrong
    except _UNREADABLE:
        raise refused from None
    return found


def pem_of(one: x509.Certificate) -> bytes:
    """A certificate as PEM, with nothing beside it."""
    return one.public_bytes(serialization.Encoding.PEM)


def fingerprint(one: x509.Certificate) -> str:
    """The hash by which a certificate is known: hexadecimal SHA-256 of its DER form."""
    return one.fingerprint(hashes.SHA256()).hex()


def is_authority(one: x509.Certificate) -> bool:
    """Whether it may sign others' certificates, and has signed itself."""
    try:
        found = one.extensions.get_extension_for_class(x509.BasicConstraints)
    except x509.ExtensionNotFound:
        return False
    return found.value.ca and is_issued_by(one, one)


def is_issued_by(one: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether an authority's key has signed a certificate in the authority's name."""
    try:
        one.verify_directly_issued_by(authority)
    except _UNREADABLE:
        return False
    return True


def all_names(one: x509.Certificate) -> list[x509.GeneralName]:
    """All names that a certificate is good for."""
    try:
        return list(one.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def given_names(names: Iterable[x509.GeneralName]) -> list[str]:
    """Those of the names that only an authority gives."""
    dns = [one.value.lower() for one in names if isinstance(one, x509.DNSName)]
    return [one for one in dns if one.endswith(DOMAIN)]


def host_names(one: x509.Certificate) -> list[str]:
    """The hosts that a certificate is good for, besides the name that the authority gave."""
    names = [str(name.value) for name in all_names(one) if isinstance(name, x509.DNSName | x509.IPAddress)]
    return [name for name in names if not name.lower().endswith(DOMAIN)]


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, start: float, end: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(int(start), UTC))
        .not_valid_after(datetime.fromtimestamp(int(end), UTC))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _is_p256(key: object) -> bool:
    return isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)

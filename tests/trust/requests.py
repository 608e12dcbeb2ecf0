"""Requests for certificates as somebody might send them who wants more than is theirs."""

import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from tradewind.trust.names import COORDINATOR


def greedy(key: CertificateIssuerPrivateKeyTypes) -> bytes:
    """A request that asks to be the coordinator, an authority, and a few others."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, COORDINATOR)])
    names: list[x509.GeneralName] = [
        x509.DNSName(COORDINATOR),
        x509.DNSName("hq.site.tradewind"),
        x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
        x509.RFC822Name("root@example.org"),
        x509.DirectoryName(name),
    ]
    return (
        x509.CertificateSigningRequestBuilder()
        .subject_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )


def with_wrong_keys() -> dict[str, bytes]:
    """Requests for keys of other kinds."""
    return {
        "RSA": greedy(rsa.generate_private_key(65_537, 2_048)),
        "P-384": greedy(ec.generate_private_key(ec.SECP384R1())),
        "secp256k1": greedy(ec.generate_private_key(ec.SECP256K1())),
        "Ed25519": greedy(ed25519.Ed25519PrivateKey.generate()),
    }

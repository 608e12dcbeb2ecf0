"""An authority and its certificates, for the tests of servers that talk over TLS."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True)
class Shown:
    """What one shows to others: a certificate, its key, and the authority that others are judged by."""

    certificate: Path
    key: Path
    ca: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.certificate, self.key)
        return context


class Authority:
    """Makes certificates in a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.ca = folder / f"{name}.pem"
        certificate = (
            _begun(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def shown(self, principal: str) -> Shown:
        """A certificate with a DNS name, for a server or client at the loopback address."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(principal), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            _begun(x509.Name([]), self._name, key)
            .add_extension(x509.SubjectAlternativeName(names), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        paths = self.folder / f"{principal}.pem", self.folder / f"{principal}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return Shown(*paths, self.ca)


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
    )

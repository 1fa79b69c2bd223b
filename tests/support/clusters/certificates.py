"""An authority of a test's own, and the certificates that it gives to whoever listens or asks on loopback."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from app.base.addresses import LOOPBACK

VALID = dt.timedelta(hours=1)


class Authority:
    """Its own certificate stands in `file`."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key, self._name = ec.generate_private_key(ec.SECP256R1()), _named(name)
        builder = self._builder(self._name, self._key.public_key())
        whole = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(whole.sign(self._key, hashes.SHA256())))

    def write(self, common_name: str, certificate: Path, key: Path) -> int:
        """A new key and a certificate of it, which is good for loopback; the certificate's serial number.

        Both may be written into one file: the key first, as Kafka wants it."""
        private = ec.generate_private_key(ec.SECP256R1())
        here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))])
        builder = self._builder(_named(common_name), private.public_key()).add_extension(here, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        form = serialization.PrivateFormat.PKCS8
        told = private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        key.write_bytes(told)
        certificate.write_bytes((told if certificate == key else b"") + _pem(signed))
        return signed.serial_number

    def _builder(self, subject: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(public_key)
        return (
            builder.serial_number(x509.random_serial_number())
            .not_valid_before(now - VALID)
            .not_valid_after(now + VALID)
        )


def _named(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)

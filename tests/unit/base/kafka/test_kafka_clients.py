"""One group of settings in three dialects; real certificates where TLS is meant."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.base.errors import CertificateUnusable
from app.base.kafka.clients import (
    aiokafka_options,
    as_properties,
    jaas,
    java_options,
    librdkafka_options,
)
from app.base.setting_groups import KafkaSettings
from app.engine.drive.faust_parts.options import faust_options

PLAIN = KafkaSettings(bootstrap_server="one:9092,two:9093")
SASL = KafkaSettings(
    bootstrap_server="one:9092",
    security_protocol="SASL_PLAINTEXT",
    sasl_mechanism="SCRAM-SHA-512",
    sasl_username="fleet",
    sasl_password=SecretStr('back\\slash "quoted"'),
)


def test_without_a_password_only_the_address_is_said() -> None:
    assert aiokafka_options(PLAIN) == {
        "bootstrap_servers": "one:9092,two:9093",
        "security_protocol": "PLAINTEXT",
    }
    assert librdkafka_options(PLAIN) == {
        "bootstrap.servers": "one:9092,two:9093",
        "security.protocol": "PLAINTEXT",
    }
    assert java_options(PLAIN) == {"bootstrap.servers": "one:9092,two:9093", "security.protocol": "PLAINTEXT"}


def test_name_and_password_reach_every_dialect() -> None:
    aio, rd, java = aiokafka_options(SASL), librdkafka_options(SASL), java_options(SASL)
    assert aio["sasl_mechanism"] == rd["sasl.mechanism"] == java["sasl.mechanism"] == "SCRAM-SHA-512"
    assert aio["sasl_plain_username"] == rd["sasl.username"] == "fleet"
    assert aio["sasl_plain_password"] == rd["sasl.password"] == 'back\\slash "quoted"'
    assert java["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="fleet" password="back\\\\slash \\"quoted\\"";'
    )


def test_faust_gets_urls_and_credentials() -> None:
    from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

    plain, sasl = faust_options(PLAIN), faust_options(SASL)
    assert plain == {"broker": ["kafka://one:9092", "kafka://two:9093"], "broker_credentials": None}
    told = credentials_to_aiokafka_auth(sasl["broker_credentials"])
    wanted = aiokafka_options(SASL)
    assert {name: told[name] for name in wanted if name != "bootstrap_servers"} == {
        name: value for name, value in wanted.items() if name != "bootstrap_servers"
    }


def test_certificates_are_files_for_librdkafka_and_text_for_java(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    default = ssl.get_default_verify_paths()
    ca.write_text(ssl.DER_cert_to_PEM_cert(_any_authority()) if default else "")
    kafka = KafkaSettings(bootstrap_server="one:9092", security_protocol="SSL", ssl_ca_file=ca)
    assert librdkafka_options(kafka)["ssl.ca.location"] == str(ca)
    assert java_options(kafka)["ssl.truststore.certificates"] == ca.read_text()
    context = aiokafka_options(kafka)["ssl_context"]
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1


@pytest.mark.parametrize(("holds", "why"), [(None, "No such file"), ("junk", "no certificate or crl found")])
@pytest.mark.parametrize("dialect", [aiokafka_options, librdkafka_options, java_options])
def test_a_certificate_that_cannot_be_used_is_told_alike_for_every_client(
    tmp_path: Path, dialect: Callable[[KafkaSettings], object], holds: str | None, why: str
) -> None:
    named = tmp_path / "ca.pem"
    if holds is not None:
        named.write_text(holds)
    kafka = KafkaSettings(bootstrap_server="one:9092", security_protocol="SSL", ssl_ca_file=named)
    with pytest.raises(CertificateUnusable, match=rf"ca\.pem: no certificate.*{why}.*FLAGFALL_KAFKA_SSL_CA_FILE"):
        dialect(kafka)


def test_properties_keep_backslashes_and_lines() -> None:
    assert as_properties({"a": "x\\y", "b": "1\n2", "c": 3}) == "a=x\\\\y\nb=1\\n2\nc=3\n"


def test_a_login_line_ends_with_a_semicolon() -> None:
    assert jaas("Module") == "Module required;"


def _any_authority() -> bytes:
    import certifi

    first = Path(certifi.where()).read_text().split("-----END CERTIFICATE-----")[0]
    begin = first.index("-----BEGIN CERTIFICATE-----")
    return ssl.PEM_cert_to_DER_cert(first[begin:] + "-----END CERTIFICATE-----\n")

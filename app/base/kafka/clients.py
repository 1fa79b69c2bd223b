"""How to reach the cluster, said once in :class:`KafkaSettings`, in the words of each client library.

aiokafka in the worker (Faust's own words: app/engine/drive/faust_parts/options.py), librdkafka (confluent-kafka) in
producers and administration, Java in Spark: three vocabularies for the same address, certificate and password.
What these functions return holds the password in clear: pass it on, do not print it.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from app.base.errors import CertificateUnusable
from app.base.setting_groups import KafkaSettings, variable

TRANSACTION_TIMEOUT_MS = 60_000
"""After so long the broker aborts what a dead task's producer left open; it bounds it (docs/broker-settings.md)."""
VARIABLES = f"{variable('kafka_ssl_ca_file')}, {variable('kafka_ssl_cert_file')} and their like name them"
JAAS_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def aiokafka_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments of aiokafka's clients. Raises CertificateUnusable."""
    options: dict[str, Any] = {
        "bootstrap_servers": kafka.bootstrap_server,
        "security_protocol": kafka.security_protocol,
    }
    if with_sasl(kafka):
        options |= {
            "sasl_mechanism": kafka.sasl_mechanism,
            "sasl_plain_username": kafka.sasl_username,
            "sasl_plain_password": kafka.sasl_password.get_secret_value(),
        }
    if with_tls(kafka):
        options["ssl_context"] = ssl_context(kafka)
    return options


def librdkafka_options(kafka: KafkaSettings) -> dict[str, str | int | float | bool]:
    """Configuration of confluent-kafka's producers, consumers and administration. Raises CertificateUnusable."""
    options: dict[str, str | int | float | bool] = {
        "bootstrap.servers": kafka.bootstrap_server,
        "security.protocol": kafka.security_protocol,
    }
    if with_sasl(kafka):
        options |= {
            "sasl.mechanism": kafka.sasl_mechanism,
            "sasl.username": kafka.sasl_username,
            "sasl.password": kafka.sasl_password.get_secret_value(),
        }
    if with_tls(kafka):
        ssl_context(kafka)  # what cannot be used is told here, and not in as many ways as there are clients
        files = {
            "ssl.ca.location": kafka.ssl_ca_file,
            "ssl.certificate.location": kafka.ssl_cert_file,
            "ssl.key.location": kafka.ssl_key_file,
        }
        options |= {name: str(path) for name, path in files.items() if path}
        if password := kafka.ssl_key_password.get_secret_value():
            options["ssl.key.password"] = password
    return options


def java_options(kafka: KafkaSettings) -> dict[str, str]:
    """Configuration of Java's clients. Spark takes each with ``kafka.`` before its name.

    Certificates are given as PEM text and not as files: Spark's executors need not have the files. Without
    ``ssl_ca_file`` Java trusts the authorities that come with it, not those of the operating system. Raises
    CertificateUnusable.
    """
    options = {"bootstrap.servers": kafka.bootstrap_server, "security.protocol": kafka.security_protocol}
    if with_sasl(kafka):
        login = {"username": kafka.sasl_username, "password": kafka.sasl_password.get_secret_value()}
        options |= {
            "sasl.mechanism": kafka.sasl_mechanism,
            "sasl.jaas.config": jaas(JAAS_MODULES[kafka.sasl_mechanism], **login),
        }
    if with_tls(kafka):
        ssl_context(kafka)
        if kafka.ssl_ca_file:
            options |= {
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": kafka.ssl_ca_file.read_text(),
            }
        if kafka.ssl_cert_file and kafka.ssl_key_file:
            options |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": kafka.ssl_cert_file.read_text(),
                "ssl.keystore.key": kafka.ssl_key_file.read_text(),
            }
        if password := kafka.ssl_key_password.get_secret_value():
            options["ssl.key.password"] = password
    return options


def ssl_context(kafka: KafkaSettings) -> ssl.SSLContext:
    """Trust and identity for Python's clients; host names are checked. Raises CertificateUnusable."""
    named = ", ".join(str(file) for file in (kafka.ssl_ca_file, kafka.ssl_cert_file, kafka.ssl_key_file) if file)
    try:
        context = ssl.create_default_context(cafile=str(kafka.ssl_ca_file) if kafka.ssl_ca_file else None)
        if kafka.ssl_cert_file and kafka.ssl_key_file:
            password = kafka.ssl_key_password.get_secret_value()
            # with no password OpenSSL would ask at the terminal: an empty one fails instead
            context.load_cert_chain(kafka.ssl_cert_file, kafka.ssl_key_file, password=lambda: password)
    except OSError as error:
        why = error.strerror or str(error)
        raise CertificateUnusable(f"{named}: no certificate or key could be read ({why}); {VARIABLES}") from error
    return context


def jaas(module: str, **options: str) -> str:
    """One line of Java's login configuration; quotes and backslashes in values are kept."""
    quoted = (f'{name}="{_escaped(value)}"' for name, value in options.items())
    return f"{' '.join([module, 'required', *quoted])};"


def as_properties(options: Mapping[str, str | int]) -> str:
    """The text of a Java properties file."""
    lines = (f"{key}={str(value).replace(chr(92), chr(92) * 2)}" for key, value in options.items())
    return "".join(f"{line.replace(chr(10), chr(92) + 'n')}\n" for line in lines)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def with_sasl(kafka: KafkaSettings) -> bool:
    return kafka.security_protocol.startswith("SASL_")


def with_tls(kafka: KafkaSettings) -> bool:
    return kafka.security_protocol.endswith("SSL")

"""How clients, and brokers among themselves, come in: openly, or by certificates and passwords, with rights of each."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from app.base.addresses import LOOPBACK
from app.base.kafka.clients import jaas
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from tests.support.clusters.certificates import Authority

ROOT = "root"
"""A user who may do everything."""
MECHANISM = "SCRAM-SHA-512"


class OpenDoor:
    """Nobody is asked who he is."""

    def properties(self, node: Settings) -> dict[str, str | int]:
        """What a broker's configuration has beside that of the project's own."""
        return {}

    def format_options(self) -> list[str]:
        """Of Kafka's tool that prepares a data directory."""
        return []

    def kafka(self, nodes: list[Settings]) -> KafkaSettings:
        """How the strongest client reaches these brokers."""
        return KafkaSettings(bootstrap_server=",".join(node.local_kafka for node in nodes))


class GuardedDoor:
    """Clients show a password over TLS, brokers show each other certificates; nobody may do what nobody has granted."""

    def __init__(self, folder: Path) -> None:
        self._authority, self._folder = Authority(folder), folder
        self.ca_file = self._authority.file

    def properties(self, node: Settings) -> dict[str, str | int]:
        services = node.services
        ports = {
            "CLIENTS": services.sasl_port,
            "BROKERS": services.kafka_port,
        }
        advertised = ",".join(f"{name}://{LOOPBACK}:{port}" for name, port in ports.items())
        if not self.certificate(node).exists():
            self.renew(node)
        return {
            "listeners": f"{advertised},CONTROLLER://{LOOPBACK}:{services.kafka_controller_port}",
            "advertised.listeners": advertised,
            "inter.broker.listener.name": "BROKERS",
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,BROKERS:SSL,CONTROLLER:SSL",
            "listener.name.brokers.ssl.client.auth": "required",
            "listener.name.controller.ssl.client.auth": "required",
            "listener.name.clients.sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.clients.{MECHANISM.lower()}.sasl.jaas.config": jaas(
                "org.apache.kafka.common.security.scram.ScramLoginModule"
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.certificate(node)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca_file),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:CN=broker;User:{ROOT}",
        }

    def format_options(self) -> list[str]:
        return ["--add-scram", f"{MECHANISM}=[name={ROOT},password={password_of(ROOT)}]"]

    def kafka(self, nodes: list[Settings]) -> KafkaSettings:
        return self.kafka_of(ROOT, nodes)

    def kafka_of(self, user: str, nodes: list[Settings]) -> KafkaSettings:
        """How a user comes in."""
        return KafkaSettings(
            bootstrap_server=",".join(f"{LOOPBACK}:{node.services.sasl_port}" for node in nodes),
            security_protocol="SASL_SSL",
            sasl_mechanism=MECHANISM,
            sasl_username=user,
            sasl_password=SecretStr(password_of(user)),
            ssl_ca_file=self.ca_file,
        )

    def certificate(self, node: Settings) -> Path:
        """A broker's, its key before it."""
        return self._folder / f"{node.data_dir.name}.pem"

    def renew(self, node: Settings) -> int:
        """Another certificate and key for a broker; its serial number. It takes them when it begins."""
        return self._authority.write("broker", self.certificate(node), self.certificate(node))


Door = OpenDoor | GuardedDoor


def password_of(user: str) -> str:
    return f"the password of {user}"

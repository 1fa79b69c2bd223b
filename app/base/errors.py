"""What can be wrong with the cluster or the registry, as seen from here.

FlagfallError
├── KafkaUnavailable      no broker answers, or lets us in: start one, or correct address, protocol, password
├── TopicsMissing         `flagfall topics create` makes them
├── TopicsDiffer          a topic exists and is not what it should be: never used, never changed
├── DeliveryFailed        the broker refused records, or never confirmed them
├── RegistryUnavailable   cannot be asked now: wait and ask again, decide nothing
├── SchemaRefused         the registry knows the subject and will not take this schema
└── CertificateUnusable   a file that a TLS setting names cannot be read, or is none
"""

from __future__ import annotations

from app.domain.errors import FlagfallError


class KafkaUnavailable(FlagfallError):
    """No broker answers at the address, or none lets us in. Start one (`flagfall services up`) or correct
    FLAGFALL_KAFKA_BOOTSTRAP_SERVER; the message tells the cause, if the client was told it."""


class TopicsMissing(FlagfallError):
    """Topics that are needed do not exist. `flagfall topics create` makes them; nothing else does."""


class TopicsDiffer(FlagfallError):
    """Topics exist with other properties than their entries say. Change the topic or the settings by hand."""


class DeliveryFailed(FlagfallError):
    """Records were not confirmed by the broker. Idempotence makes sending all of them again the wrong cure."""


class RegistryUnavailable(FlagfallError):
    """The registry gave no answer that means anything. Wait and ask again; nothing follows from it."""


class SchemaRefused(FlagfallError):
    """The registry will not take a schema under its subject's compatibility rule. Change the schema."""


class CertificateUnusable(FlagfallError):
    """A file that a TLS setting names is not there, or holds no certificate or key. The message names its setting."""

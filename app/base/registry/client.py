"""The schema registry: register under a strict rule, look up by id, and never take silence for an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from app.base.asking import MAX_TOLD
from app.base.errors import RegistryUnavailable, SchemaRefused
from app.base.registry.answers import TooLarge, bounded_client, writer_schema_of
from app.base.registry.compatibility import COMPATIBILITY
from app.base.settings import Settings
from app.codecs.avro.schema import WriterSchema

SCHEMA_IDS = range(1, 2**31)
"""What an id may be: the framing's four bytes hold more, which registries answer in ways of their own."""
SUBJECT_NOT_FOUND, SCHEMA_NOT_FOUND = 40401, 40403
NOT_FOUND = 404
CONFLICT = INCOMPATIBLE = 409
UNPROCESSABLE = 422
TIMEOUT_SECONDS = 10.0
PATIENT_SECONDS = 45.0
"""The same for those who have nothing else to do: a registry that is slow does answer."""
RETRIES = 1

SubjectState = Literal["registered", "other schema", "missing"]


class Version(NamedTuple):
    """One schema of a subject. `number` counts within the subject, the schema's id in the whole registry."""

    number: int
    schema: WriterSchema


class Registry:
    """A client of one registry. The ids of what is registered never change, so each is asked for once.

    An answer may take `timeout_seconds`; a question is put RETRIES times more before it is given up.
    """

    def __init__(self, settings: Settings, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.url = settings.registry_url
        self._client: SchemaRegistryClient = bounded_client(_client_options(settings), timeout_seconds)
        self._ids: dict[tuple[str, str], int] = {}

    def register(self, subject: str, schema: Mapping[str, Any]) -> int:
        """The schema's id under the subject, registered if it was not. Raises SchemaRefused, RegistryUnavailable.

        The subject is held to COMPATIBILITY from its first version on, whatever the registry's own default.
        """
        text = _canonical(schema)
        if (subject, text) not in self._ids:
            self._ids[subject, text] = self._register(subject, text)
        return self._ids[subject, text]

    def writer_schema(self, schema_id: int) -> WriterSchema | None:
        """What was registered under the id. Raises RegistryUnavailable.

        None is the registry's own word that there is no such id, now; it may be given to a schema tomorrow. One that
        is larger than any that can be read has no text. Asked anew each time: a registry may be given back what it had.
        """
        if schema_id not in SCHEMA_IDS:
            return None
        self._client.clear_caches()  # what it keeps may have been refused by whoever asks again
        try:
            return writer_schema_of(schema_id, self._client.get_schema(schema_id))
        except TooLarge:
            return WriterSchema(schema_id, "")
        except SchemaRegistryError as error:
            if (error.http_status_code, error.error_code) == (NOT_FOUND, SCHEMA_NOT_FOUND):
                return None
            raise self._unavailable(error) from error
        except Exception as error:  # the client lets its HTTP library's own errors through
            raise self._unavailable(error) from error

    def state(self, subject: str, schema: Mapping[str, Any]) -> SubjectState:
        """Whether the subject holds exactly this schema. Raises RegistryUnavailable."""
        if not self._versions(subject):
            return "missing"
        try:
            self._client.lookup_schema(subject, Schema(_canonical(schema), "AVRO"))
        except SchemaRegistryError as error:
            if error.error_code == SCHEMA_NOT_FOUND:
                return "other schema"
            raise self._unavailable(error) from error
        return "registered"

    def accepts(self, subject: str, schema: Any) -> bool:
        """Whether the subject, under the rule it has, would take this schema (as JSON). Raises RegistryUnavailable.

        A subject without versions takes any.
        """
        if not self._versions(subject):
            return True
        try:
            taken: bool = self._client.test_compatibility_all_versions(subject, Schema(_canonical(schema), "AVRO"))
        except SchemaRegistryError as error:
            if error.http_status_code == UNPROCESSABLE:
                return False
            raise self._unavailable(error) from error
        except Exception as error:  # the client lets its HTTP library's own errors through
            raise self._unavailable(error) from error
        return taken

    def versions(self, subject: str) -> list[Version]:
        """Every version of the subject, the latest last; none if there is no subject. Raises RegistryUnavailable."""
        return [self._version(subject, number) for number in sorted(self._versions(subject))]

    def _version(self, subject: str, number: int) -> Version:
        try:
            told = self._client.get_version(subject, number)
            return Version(number, writer_schema_of(int(told.schema_id or 0), told.schema))
        except Exception as error:  # the client lets its HTTP library's own errors through
            raise self._unavailable(error) from error

    def _register(self, subject: str, text: str) -> int:
        first = not self._versions(subject)
        try:
            if not first:
                self._hold(subject)
            schema_id: int = self._client.register_schema(subject, Schema(text, "AVRO"))
            if first:  # a subject without a version has nothing to hold the rule
                self._hold(subject)
        except SchemaRegistryError as error:
            if error.http_status_code in (INCOMPATIBLE, UNPROCESSABLE):
                raise SchemaRefused(
                    f"the registry at {self.url} refuses the schema of {subject} under {COMPATIBILITY}: "
                    f"{error.error_message}. Fields may be added with a default, never removed or retyped."
                ) from error
            raise self._unavailable(error) from error
        except Exception as error:  # the client lets its HTTP library's own errors through
            raise self._unavailable(error) from error
        return schema_id

    def _hold(self, subject: str) -> None:
        try:
            self._client.set_compatibility(subject, COMPATIBILITY)
        except SchemaRegistryError as error:
            if error.http_status_code != CONFLICT:
                raise
            self._client.set_compatibility(subject, COMPATIBILITY)  # another worker has made the rule meanwhile

    def _versions(self, subject: str) -> list[int]:
        try:
            versions: list[int] = self._client.get_versions(subject)
        except SchemaRegistryError as error:
            if error.error_code == SUBJECT_NOT_FOUND:
                return []
            raise self._unavailable(error) from error
        except Exception as error:  # the client lets its HTTP library's own errors through
            raise self._unavailable(error) from error
        return versions

    def _unavailable(self, error: Exception) -> RegistryUnavailable:
        self._client.clear_caches()  # it keeps what it was told, were it no schema at all
        return RegistryUnavailable(
            f"the registry at {self.url} does not answer as one ({_in_short(error)}): start it with "
            f"`flagfall services up`, or set FLAGFALL_REGISTRY_URL to a running one"
        )


def _client_options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {
        "url": settings.registry_url,
        "max.retries": RETRIES,
    }
    if settings.registry_username:
        password = settings.registry_password.get_secret_value()
        options["basic.auth.user.info"] = f"{settings.registry_username}:{password}"
    return options


def _canonical(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, separators=(",", ":"))


def _in_short(error: Exception) -> str:
    """What it says, of a page that answers in the place of a registry the beginning."""
    return (str(error) or type(error).__name__)[:MAX_TOLD]

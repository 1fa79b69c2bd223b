"""Writer schemas by id, fetched from the registry on the driver; executors never ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import httpx
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from app.base.settings import Settings
from app.codecs.avro_schema import WriterSchema
from spark_batch.errors import Inconclusive

NOT_FOUND = 404
TIMEOUT_SECONDS = 10

Answer = TypeVar("Answer")


class WriterSchemas(Mapping[int, WriterSchema | None]):
    """Starts with every version of the given subjects; any other id is asked for when it is met.

    None stands for an id that the registry, definitely, does not have. Raises Inconclusive where it does not answer.
    """

    def __init__(self, settings: Settings, topics: Sequence[str]) -> None:
        self._client = SchemaRegistryClient(_options(settings))
        self._known: dict[int, WriterSchema | None] = {}
        for topic in topics:
            self._learn_subject(f"{topic}-value")

    def __getitem__(self, schema_id: int) -> WriterSchema | None:
        if schema_id not in self._known:
            found = self._ask(lambda: self._client.get_schema(schema_id))
            self._known[schema_id] = None if found is None else WriterSchema(schema_id, found.schema_str or "")
        return self._known[schema_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def _learn_subject(self, subject: str) -> None:
        for version in self._ask(lambda: self._client.get_versions(subject)) or []:
            found = self._ask(lambda number=version: self._client.get_version(subject, number))  # type: ignore[misc]
            if found is not None and found.schema_id is not None:
                self._known[found.schema_id] = WriterSchema(found.schema_id, found.schema.schema_str or "")

    def _ask(self, question: Callable[[], Answer]) -> Answer | None:
        try:
            return question()
        except SchemaRegistryError as error:
            if error.http_status_code == NOT_FOUND:
                return None
            raise Inconclusive(f"the schema registry answered {error}; run it again when it is well") from error
        except (httpx.HTTPError, OSError) as error:
            raise Inconclusive(
                f"the schema registry cannot be reached ({error}); run it again when it is up"
            ) from error


def _options(settings: Settings) -> dict[str, Any]:
    options: dict[str, Any] = {"url": settings.registry_url, "timeout": TIMEOUT_SECONDS}
    if settings.registry_username:
        password = settings.registry_password.get_secret_value()
        options["basic.auth.user.info"] = f"{settings.registry_username}:{password}"
    return options

"""Writer schemas as a mapping, for those who meet ids one at a time and can wait for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from app.base.registry.client import Registry
from app.codecs.avro.schema import WriterSchema


class RegistrySchemas(Mapping[int, WriterSchema | None]):
    """By id, asked for when they are met; None for an id that the registry does not have.

    It begins with every version of some subjects. Raises RegistryUnavailable where no answer comes.
    """

    def __init__(self, registry: Registry, subjects: Iterable[str] = ()) -> None:
        self._registry = registry
        versions = [version for subject in subjects for version in registry.versions(subject)]
        self._known: dict[int, WriterSchema | None] = {version.schema.id: version.schema for version in versions}

    def __getitem__(self, schema_id: int) -> WriterSchema | None:
        if schema_id not in self._known:
            self._known[schema_id] = self._registry.writer_schema(schema_id)
        return self._known[schema_id]

    def __iter__(self) -> Iterator[int]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

"""The sources of a catalogue against the registry: whether what others write can be read as their columns.

The rides' schema is ours, and is registered as it is. A topic of a user's own may have a schema already, with more
fields than the definition names: then that one stays, if it fits.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from app.base.errors import RegistryUnavailable
from app.base.names import subject_of
from app.base.registry.client import Registry, Version
from app.base.settings import Settings
from app.codecs.avro.fit import misfits
from app.codecs.avro.record_schema import record_schema
from app.domain.catalogue import Catalogue
from app.domain.errors import DefinitionError
from app.domain.source import Source
from app.rides.shipped import OWN_SOURCES

log = logging.getLogger(__name__)


def register_schemas(
    settings: Settings, sources: Iterable[Source], own: Collection[Source] = OWN_SOURCES
) -> dict[str, int]:
    """Topic to the id of the schema that its records are written with, registered where there was none.

    A source of `own` has its record's schema and no other. Raises DefinitionError naming every field that does not
    fit, SchemaRefused, RegistryUnavailable.
    """
    registry, ids, problems = Registry(settings), dict[str, int](), list[str]()
    for topic, source in ((topic.name, one) for one in sources for topic in one.topics):
        subject = subject_of(topic)
        versions = [] if source in own else registry.versions(subject)
        problems += _misfits(subject, source, versions)
        ids[topic] = versions[-1].schema.id if versions else registry.register(subject, record_schema(source))
    _refuse(settings, problems)
    return ids


def value_schemas(catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Subject to the Avro schema of what is read from its topic; asks no registry."""
    return {subject: record_schema(source) for subject, source in _subjects(catalogue).items()}


def schema_states(settings: Settings, catalogue: Catalogue) -> dict[str, str]:
    """Subject to `registered` (exactly ours), `fits`, `missing`, or what is wrong. Raises RegistryUnavailable."""
    registry = Registry(settings)
    states: dict[str, str] = {}
    for subject, source in _subjects(catalogue).items():
        states[subject] = registry.state(subject, record_schema(source))
        if states[subject] == "other schema" and source not in OWN_SOURCES:
            states[subject] = "; ".join(_misfits(subject, source, registry.versions(subject))) or "fits"
    return states


def require_fit(settings: Settings, catalogue: Catalogue) -> None:
    """DefinitionError naming every field that does not fit, of the sources that are not our own.

    A registry that does not answer is no reason not to start: tasks wait for it when they meet a schema.
    """
    registry, problems = Registry(settings), list[str]()
    try:
        for subject, source in _subjects(catalogue).items():
            if source not in OWN_SOURCES:
                problems += _misfits(subject, source, registry.versions(subject))
    except RegistryUnavailable as error:
        log.warning("schemas were not held against the definitions: %s", error)
        return
    _refuse(settings, problems)


def _subjects(catalogue: Catalogue) -> Mapping[str, Source]:
    return {subject_of(topic): source for topic, source in catalogue.by_topic.items()}


def _misfits(subject: str, source: Source, versions: Sequence[Version]) -> list[str]:
    """In the latest version each column must be there; in older ones a nullable column may be missing."""
    return [
        f"source {source.name}: {subject}, version {version.number}: {problem}"
        for version in versions
        for problem in misfits(source, version.schema.declared, absent_is_null=version is not versions[-1])
    ]


def _refuse(settings: Settings, problems: Sequence[str]) -> None:
    if problems:
        raise DefinitionError(f"{settings.definitions} does not fit what the registry holds", problems)

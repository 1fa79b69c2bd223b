"""What would come of a schema that somebody wants to write with, before it is registered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fastavro.schema import SchemaParseException, UnknownType

from app.base.names import subject_of
from app.base.registry.client import Registry, Version
from app.base.settings import Settings
from app.codecs.avro.admission import MAX_NESTING, is_readable, is_shallow
from app.codecs.avro.evolution import obstacles
from app.codecs.avro.fit import misfits
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.spelling import mistakes
from app.definitions.losses import losses
from app.domain.catalogue import Catalogue
from app.domain.errors import DefinitionError, FlagfallError, did_you_mean
from app.domain.source import Source


class NoSchema(FlagfallError):
    """A text is no Avro schema. Mend it at the place that the message names."""


@dataclass(frozen=True)
class Proposal:
    """The schema against one topic: what the registry says, and why, and what workers would do with its records."""

    subject: str
    is_accepted: bool
    """The registry's word, under the rule that the subject has."""
    breaks: tuple[str, ...]
    """Which versions and it do not read each other, and where; under FULL_TRANSITIVE all must."""
    unreadable: tuple[str, ...]
    """Why workers could not read its records, which they would quarantine as `incompatible_schema`."""
    losses: tuple[str, ...]
    """What figures would be without although nobody says no: columns that it lacks, values that no column takes."""

    @property
    def is_fit(self) -> bool:
        return self.is_accepted and not self.breaks and not self.unreadable


def proposal_of(settings: Settings, catalogue: Catalogue, topic: str, text: str) -> Proposal:
    """Raises NoSchema, DefinitionError for a topic that no source has, RegistryUnavailable."""
    source, schema, subject = _source_of(catalogue, topic), parsed(text), subject_of(topic)
    registry, unreadable = Registry(settings), tuple(_unreadable(source, text))
    return Proposal(
        subject,
        registry.accepts(subject, schema),
        tuple(_breaks(schema, registry.versions(subject))),
        unreadable,
        () if unreadable else tuple(losses(catalogue, source, schema)),
    )


def _source_of(catalogue: Catalogue, topic: str) -> Source:
    if topic not in catalogue.by_topic:
        known = did_you_mean(topic, catalogue.by_topic) or f"; there are {', '.join(sorted(catalogue.by_topic))}"
        raise DefinitionError("nobody reads that topic", [f"there is no source with a topic {topic}{known}"])
    return catalogue.by_topic[topic]


def parsed(text: str) -> Any:
    """A schema as JSON. Raises NoSchema for any other text."""
    schema = _json(text)
    wrong = "; ".join(mistakes(schema))
    try:
        if not wrong:
            obstacles(schema, schema)
    except UnknownType as error:
        wrong = f"there is no type {error.name}"
    except SchemaParseException as error:
        wrong = str(error)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        wrong = "a part of it is nothing that Avro knows"
    if wrong:
        raise NoSchema(f"it is no Avro schema: {wrong}")
    return schema


def _json(text: str) -> Any:
    """NoSchema where it is none, or is too deep for what looks at it."""
    try:
        declared = json.loads(text)
        too_deep = not is_shallow(declared)
    except json.JSONDecodeError as error:
        raise NoSchema(f"it is no JSON: {error}") from None
    except ValueError:
        raise NoSchema("it is no JSON that anybody reads: a number has thousands of digits") from None
    except RecursionError:
        too_deep = True
    if too_deep:
        raise NoSchema(f"more than {MAX_NESTING} lists and objects lie within one another: nobody reads such a schema")
    return declared


def _breaks(schema: Any, versions: Sequence[Version]) -> Iterable[str]:
    for version in versions:
        if version.schema.declared is None:
            yield f"version {version.number} is {version.schema.kind}, which no reader of Avro reads"
            continue
        held = version.schema.declared
        yield from (f"it would not read version {version.number}: {why}" for why in obstacles(schema, held))
        yield from (f"version {version.number} would not read it: {why}" for why in obstacles(held, schema))


def _unreadable(source: Source, text: str) -> Iterable[str]:
    schema = WriterSchema(0, text)
    if not is_readable(schema, source.columns):
        problems = list(misfits(source, schema.declared, absent_is_null=True))
        yield from problems or ["a few bytes of it could take any time to read: it contains itself, or too many parts"]

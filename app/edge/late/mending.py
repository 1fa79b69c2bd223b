"""What a refused record says: read by the registry's schemas as they are now, or mended by hand in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from app.base.files.bounded import LARGE_BYTES, read_bounded
from app.codecs.avro.admission import is_shallow
from app.codecs.avro.schema import Schemas
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.corrections.refeed import Left
from app.domain.errors import FlagfallError
from app.domain.records import Place, Record, Value
from app.domain.rules.admission import refusal
from app.domain.source import Column, Source, with_derived
from app.edge.late.originals import Whole, as_kept
from app.edge.late.refused import RefusedRecord

NAMES = {int: "a whole number", float: "a number with a fraction", str: "text", bool: "true or false"}
NO_SOURCE = "of no source that is known here"
"""Why a record of a topic that the catalogue does not have cannot be read."""


class NotMended(FlagfallError):
    """The file of mended records says something that no record can: every mistake at once."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What a record should have said; `timestamp_ms` None leaves Kafka's own."""

    values: Mapping[str, Value]
    timestamp_ms: int | None


def values_of(source: Source, refused: RefusedRecord, schemas: Schemas) -> dict[str, Value] | str:
    """The record's columns, or the reason for which it cannot be read even now."""
    if refused.original is not None:
        return Left.ORIGINAL_GONE
    told = StrictDecoder(source.columns).decode(refused.value, schemas)
    return told.reason if isinstance(told, Unreadable) else told


@dataclass(frozen=True, slots=True)
class Reader:
    """Says what refused records say, each by the source of its topic; `whole` gives all of those kept in part."""

    sources: Mapping[str, Source]
    schemas: Schemas
    whole: Whole = as_kept

    def __call__(self, refused: RefusedRecord) -> dict[str, Value] | str:
        """The record's columns, or the reason for which it cannot be read even now."""
        source = self.sources.get(refused.place.topic)
        return NO_SOURCE if source is None else values_of(source, self.whole(refused), self.schemas)


def usable(source: Source, refused: RefusedRecord, schemas: Schemas, mended: Mended | None = None) -> Record | str:
    """The record as it can be folded now, or the reason for which it still cannot."""
    values = values_of(source, refused, schemas) if mended is None else mended.values
    if isinstance(values, str):
        return values
    own_ms = None if mended is None else mended.timestamp_ms
    record = Record(*refused.place, refused.timestamp_ms if own_ms is None else own_ms, values)
    return refusal(source, record, with_derived(source, values)) or record


def read_mended(file: Path, sources: Mapping[str, Source]) -> dict[Place, Mended]:
    """Records mended by hand: JSON as `late show --values --json` prints it, or a list of such records.

    `sources`: by topic. Columns that are left out are null; records without values are left alone. Raises NotMended.
    """
    told = _document(file)
    try:
        listed = told["records"] if isinstance(told, dict) else told
        records = [one for one in listed if one.get("values") is not None]
        places = [_place(one) for one in records]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _not_mended(file, "it is not as `late show --values --json` prints it") from error
    problems = [f"{at}: {p}" for at, one in zip(places, records, strict=True) for p in _problems(sources, at, one)]
    problems += [f"{place} is there twice" for place in sorted({p for p in places if places.count(p) > 1})]
    if problems:
        raise NotMended("\n".join([f"{file} cannot be used:", *(f"  - {problem}" for problem in problems)]))
    return {at: _mended(sources[at.topic], one) for at, one in zip(places, records, strict=True)}


def _place(told: Mapping[str, Any]) -> Place:
    """Where the record stood. ValueError if that is no place."""
    topic, *numbers = (told[name] for name in Place._fields)
    if type(topic) is not str or any(type(number) is not int for number in numbers):
        raise ValueError("no topic, partition and offset")
    return Place(topic, *numbers)


def _document(file: Path) -> Any:
    """The file as JSON. Raises NotMended."""
    try:
        told = orjson.loads(read_bounded(file, LARGE_BYTES))
    except OSError as error:
        raise _not_mended(file, f"it cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _not_mended(file, f"it is no JSON: {error}") from error
    if not is_shallow(told):
        raise _not_mended(file, "lists and objects without end lie within one another")
    return told


def _not_mended(file: Path, why: str) -> NotMended:
    return NotMended(f"{file}: no list of records with topic, partition, offset and values: {why}")


def _mended(source: Source, told: Mapping[str, Any]) -> Mended:
    values = {column.name: told["values"].get(column.name) for column in source.columns}
    return Mended(values, told.get("timestamp_ms"))


def _problems(sources: Mapping[str, Source], at: Place, told: Mapping[str, Any]) -> Iterable[str]:
    values, source = told["values"], sources.get(at.topic)
    if source is None:
        yield f"no topic of {', '.join(sorted({one.name for one in sources.values()}))}"
        return
    if type(told.get("timestamp_ms", 0)) is not int:
        yield f"timestamp_ms {told['timestamp_ms']!r} is no whole number of milliseconds"
    if not isinstance(values, dict):
        yield f"values are {values!r}, not columns by name"
        return
    known = {column.name for column in source.columns}
    yield from (f"no column {name!r} in source {source.name!r}" for name in values if name not in known)
    for column in source.columns:
        yield from _value_problems(column, values.get(column.name))


def _value_problems(column: Column, value: Any) -> Iterable[str]:
    wanted = column.kind.python
    if value is None:
        if not column.nullable:
            yield f"column {column.name!r} may not be null"
    elif wanted is int and type(value) is float and value.is_integer():  # so JSON's larger ones are read
        yield f"column {column.name!r} is {column.kind}, {value:g} is not written as a whole number of 64 bits"
    elif type(value) is not wanted:
        yield f"column {column.name!r} is {column.kind}, {value!r} is {NAMES.get(type(value), type(value).__name__)}"

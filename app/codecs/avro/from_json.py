"""Plain JSON to Avro values in the Confluent framing, by whatever schema a topic's records are written with.

Instants and decimals are what Avro has below them, numbers and bytes; bytes are text, a letter a byte (as Avro's own
JSON has them); a union's value stands plain, and is of the first branch that takes it; a field that has a default may
be left out.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import fastavro

from app.codecs.avro.schema import HEADER_BYTES, WriterSchema
from app.domain.errors import did_you_mean

MOST_TOLD, MOST_NEAR = 200, 256
"""Letters of a name or a value; names that are not there of which is remembered what is near, as that is slow."""
NO_ENVELOPE = dict.fromkeys(("records", "value"), "; records are sent as they are, in no object about them")
MISSING = object()
Fitting = Callable[[Any], Any]
"""What fastavro writes for a value of JSON. NotOfSchema."""
Fits = Callable[[Any], bool]


class NotOfSchema(ValueError):
    """A document is no value of the schema; its text names the field, and what is expected."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self._why, self._path = why, path

    def below(self, step: str) -> NotOfSchema:
        """The same, told from where `step` leads to it."""
        dot = "." if self._path and not self._path.startswith("[") else ""
        return NotOfSchema(self._why, f"{step}{dot}{self._path}")


class JsonWriter:
    """Writes values of one schema, which is a record's."""

    def __init__(self, schema: WriterSchema) -> None:
        self.schema = schema
        parsed: Any = fastavro.parse_schema(_without_logical_types(schema.declared))
        self._parsed, named = parsed, parsed["__named_schemas"]
        known: dict[str, Fitting] = {}
        known.update((name, _of_named(one, known)) for name, one in named.items())
        self._taken = known[parsed["name"]]

    def write(self, document: Any) -> bytes:
        """Framed. NotOfSchema."""
        value = self._taken(document)
        body = io.BytesIO(self.schema.header)
        body.seek(HEADER_BYTES)
        try:
            fastavro.schemaless_writer(body, self._parsed, value)
        except UnicodeEncodeError as error:
            raise NotOfSchema(f"{_told(error.object)} has half of a letter, which no bytes can hold") from None
        return body.getvalue()


def _of(schema: Any, known: Mapping[str, Fitting]) -> Fitting:
    """`known`: types that have a name, which may lead back to themselves, and are all there when they are used."""
    if isinstance(schema, list):
        return _of_union(schema, known)
    kind = _kind(schema)
    if kind in PRIMITIVES:
        return _of_primitive(kind)
    if kind == "array":
        return _of_array(_of(schema["items"], known))
    if kind == "map":
        return _of_map(_of(schema["values"], known))
    name = kind if isinstance(schema, str) else schema["name"]

    def take(given: Any) -> Any:
        return known[name](given)

    return take


def _of_named(schema: Any, known: Mapping[str, Fitting]) -> Fitting:
    if schema["type"] == "enum":
        return _of_enum(schema["symbols"])
    return _of_fixed(schema["size"]) if schema["type"] == "fixed" else _of_record(schema["fields"], known)


def _of_primitive(kind: str) -> Fitting:
    fits, is_bytes = PRIMITIVES[kind], kind == "bytes"

    def take(given: Any) -> Any:
        if not fits(given):
            raise NotOfSchema(f"{_told(given)} is no {kind}")
        return given.encode("latin-1") if is_bytes else given

    return take


def _of_union(branches: Sequence[Any], known: Mapping[str, Fitting]) -> Fitting:
    taken = [(_name(branch), _of(branch, known)) for branch in branches]
    deeper = [take for name, take in taken if name != "null"]
    says_why = len(deeper) == 1 and len(taken) == 2
    expected = " or ".join(name for name, _ in taken)
    if all(name in PRIMITIVES and name != "bytes" for name, _ in taken):
        return _of_any([PRIMITIVES[name] for name, _ in taken], expected)

    def take(given: Any) -> Any:
        if says_why and given is not None:
            return deeper[0](given)
        for name, one in taken:
            try:
                value = one(given)
            except NotOfSchema:
                continue
            return (name, value) if name in known else value  # which branch it is of, its value may not say
        raise NotOfSchema(f"{_told(given)} is no {expected}")

    return take


def _of_any(kinds: Sequence[Fits], expected: str) -> Fitting:
    def take(given: Any) -> Any:
        for fits in kinds:
            if fits(given):
                return given
        raise NotOfSchema(f"{_told(given)} is no {expected}")

    return take


def _of_record(fields: Sequence[Any], known: Mapping[str, Fitting]) -> Fitting:
    names = {field["name"] for field in fields}
    taken = [(field["name"], _of(field["type"], known), field.get("default", MISSING)) for field in fields]

    @lru_cache(MOST_NEAR)
    def near(unknown: str) -> str:
        return NO_ENVELOPE.get(unknown) or did_you_mean(unknown, names)

    def take(given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise NotOfSchema(f"a record is a JSON object, not {_told(given)}")
        if not given.keys() <= names:
            unknown = next(name for name in given if name not in names)[:MOST_TOLD]
            raise NotOfSchema(f"there is no such field{near(unknown)}", unknown)
        value = {}
        for name, one, default in taken:
            found = given.get(name, default)
            if found is MISSING:
                raise NotOfSchema("it is missing", name)
            try:
                value[name] = one(found)
            except NotOfSchema as error:
                raise error.below(name) from None
        return value

    return take


def _of_array(item: Fitting) -> Fitting:
    def take(given: Any) -> list[Any]:
        if not isinstance(given, list):
            raise NotOfSchema(f"{_told(given)} is no array")
        return [_below(f"[{at}]", item, one) for at, one in enumerate(given)]

    return take


def _of_map(item: Fitting) -> Fitting:
    def take(given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            raise NotOfSchema(f"{_told(given)} is no map")
        return {name: _below(name[:MOST_TOLD], item, one) for name, one in given.items()}

    return take


def _below(step: str, take: Fitting, given: Any) -> Any:
    try:
        return take(given)
    except NotOfSchema as error:
        raise error.below(step) from None


def _of_enum(symbols: Sequence[str]) -> Fitting:
    def take(given: Any) -> str:
        if given not in symbols:
            raise NotOfSchema(f"{_told(given)} is no one of {', '.join(symbols)}")
        return str(given)

    return take


def _of_fixed(size: int) -> Fitting:
    def take(given: Any) -> bytes:
        if not _is_latin(given) or len(given) != size:
            raise NotOfSchema(f"{_told(given)} is no text of {size} bytes")
        return bytes(given, "latin-1")

    return take


def _told(value: Any) -> str:
    """As JSON has it, but for halves of letters."""
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()[:MOST_TOLD]


def _kind(schema: Any) -> str:
    return str(schema["type"] if isinstance(schema, Mapping) else schema)


def _name(schema: Any) -> str:
    return str(schema.get("name", schema["type"])) if isinstance(schema, Mapping) else str(schema)


def _is_whole(value: Any, bits: int) -> bool:
    return type(value) is int and -(1 << bits) <= value < 1 << bits


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _is_latin(value: Any) -> bool:
    return isinstance(value, str) and all(ord(letter) < 256 for letter in value)


PRIMITIVES: Mapping[str, Fits] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: _is_whole(value, 31),
    "long": lambda value: _is_whole(value, 63),
    "float": lambda value: _is_number(value) and not abs(value) > 3.4028234663852886e38,
    "double": _is_number,
    "string": lambda value: isinstance(value, str),
    "bytes": _is_latin,
}
"""Which values of JSON are of them."""


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, Mapping):
        return {name: _without_logical_types(part) for name, part in schema.items() if name != "logicalType"}
    return schema

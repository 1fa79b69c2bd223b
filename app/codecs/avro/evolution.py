"""What keeps a reader of one Avro schema from reading what was written under another, in words.

Avro's rules of resolution (specification 1.12, "Schema Resolution"), which a registry holds its subjects to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import fastavro

PROMOTED: Mapping[str, tuple[str, ...]] = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""What a written value may be read as, beside its own type."""


def obstacles(reader: Any, writer: Any) -> list[str]:
    """Why values written under `writer` cannot all be read under `reader` (both as JSON); nothing if they can.

    Raises fastavro's SchemaParseException or UnknownType where one of them is no schema.
    """
    read, reader_names = _parsed(reader)
    written, writer_names = _parsed(writer)
    return list(_Resolution(reader_names, writer_names).of(read, written, ""))


class _Resolution:
    """Two schemas held against each other from the outside in; named types are met once for each pair."""

    def __init__(self, reader_names: Mapping[str, Any], writer_names: Mapping[str, Any]) -> None:
        self._reader_names, self._writer_names = reader_names, writer_names
        self._met: set[tuple[str, str]] = set()

    def of(self, reader: Any, writer: Any, place: str) -> Iterator[str]:
        """`place`: the field that is looked at, as `a.b`; empty for the whole."""
        reader, writer = _type(reader, self._reader_names), _type(writer, self._writer_names)
        if isinstance(writer, list):
            for branch in writer:
                yield from self.of(reader, branch, place)
        elif isinstance(reader, list):
            if not any(self._is_read(branch, writer, place) for branch in reader):
                yield f"{_at(place)}{_word(writer)} is none of {_word(reader)}"
        elif _kind(reader) != _kind(writer):
            if _kind(reader) not in PROMOTED.get(_kind(writer), ()):
                yield f"{_at(place)}{_word(writer)} cannot be read as {_word(reader)}"
        else:
            yield from self._of_one_kind(reader, writer, place)

    def _is_read(self, reader: Any, writer: Any, place: str) -> bool:
        """Without leaving traces, as another branch may be the one."""
        trial = _Resolution(self._reader_names, self._writer_names)
        trial._met |= self._met
        return not any(trial.of(reader, writer, place))

    def _of_one_kind(self, reader: Any, writer: Any, place: str) -> Iterator[str]:
        match _kind(reader):
            case "array":
                yield from self.of(reader["items"], writer["items"], f"{place}[]")
            case "map":
                yield from self.of(reader["values"], writer["values"], f"{place}{{}}")
            case "record" | "error" | "enum" | "fixed" as kind:
                names = reader["name"], writer["name"]
                if writer["name"] not in (reader["name"], *_aliases(reader)):
                    yield f"{_at(place)}the {kind} {writer['name']} is not {reader['name']}, nor an alias of it"
                elif names not in self._met:
                    self._met.add(names)
                    yield from self._of_named(reader, writer, place)

    def _of_named(self, reader: Any, writer: Any, place: str) -> Iterator[str]:
        match _kind(reader):
            case "fixed":
                if reader["size"] != writer["size"]:
                    yield f"{_at(place)}{writer['size']} bytes are not {reader['size']}"
            case "enum":
                lost = [symbol for symbol in writer["symbols"] if symbol not in reader["symbols"]]
                if lost and "default" not in reader:
                    yield f"{_at(place)}symbols {', '.join(lost)} are unknown, and there is no default for them"
            case _:
                yield from self._of_records(reader, writer, place)

    def _of_records(self, reader: Any, writer: Any, place: str) -> Iterator[str]:
        written = {field["name"]: field for field in writer["fields"]}
        for field in reader["fields"]:
            name = f"{place}.{field['name']}" if place else field["name"]
            found = [written[known] for known in (field["name"], *field.get("aliases", ())) if known in written]
            if found:
                yield from self.of(field["type"], found[0]["type"], name)
            elif "default" not in field:
                yield f"{_at(name)}it is not written, and has no default"


def _parsed(schema: Any) -> tuple[Any, dict[str, Any]]:
    """The schema with full names, and every named type of it by its full name."""
    names: dict[str, Any] = {}
    return fastavro.parse_schema(schema, named_schemas=names), names


def _type(declared: Any, names: Mapping[str, Any]) -> Any:
    """What stands behind a name, and behind a type that is written as {"type": …} only for its properties."""
    while isinstance(declared, Mapping) and isinstance(declared["type"], (Mapping, list)):
        declared = declared["type"]
    return names[declared] if isinstance(declared, str) and declared in names else declared


def _kind(declared: Any) -> str:
    return str(declared["type"]) if isinstance(declared, Mapping) else str(declared)


def _aliases(named: Mapping[str, Any]) -> list[str]:
    """Full names: an alias without a dot is of the type's own namespace."""
    space = named["name"].rpartition(".")[0]
    return [alias if "." in alias or not space else f"{space}.{alias}" for alias in named.get("aliases", ())]


def _word(declared: Any) -> str:
    if isinstance(declared, list):
        return " or ".join(map(_word, declared))
    if isinstance(declared, Mapping) and "name" in declared:
        return f"{declared['type']} {declared['name']}"
    return _kind(declared)


def _at(place: str) -> str:
    return f"{place}: " if place else ""

"""What is wrong with the JSON of an Avro schema, in words: whatever has the shape and the names of one passes.

Names that nothing stands behind, names given twice and defaults that do not fit are the parser's to tell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from app.domain.source import AVRO_NAME

_TOLD = 40


def mistakes(declared: Any, place: str = "") -> Iterator[str]:
    """Each with its place, as `a.b`. It goes as deep as the schema does."""
    match declared:
        case str():
            return
        case list():
            yield from _of_union(declared, place)
        case {"type": "record" | "error" as kind}:
            yield from _of_name(declared, f"the {kind}", place)
            yield from _of_fields(declared.get("fields"), place)
        case {"type": "enum"}:
            yield from _of_name(declared, "the enum", place)
            yield from _of_symbols(declared.get("symbols"), place)
        case {"type": "fixed"}:
            yield from _of_name(declared, "the fixed", place)
            size = declared.get("size")
            if type(size) is not int or size < 0:
                yield f"{_at(place)}the size of the fixed is {_shown(size)}, and must be a number of bytes"
        case {"type": "array", "items": inner} | {"type": "map", "values": inner}:
            yield from mistakes(inner, place)
        case {"type": "array" | "map" as kind}:
            yield f"{_at(place)}the {kind} has no {'items' if kind == 'array' else 'values'}"
        case {"type": inner}:
            yield from mistakes(inner, place)
        case dict():
            yield f"{_at(place)}an object has no type"
        case _:
            yield f"{_at(place)}{_shown(declared)} is no type: a type is a name, a list of types or an object"


def _of_union(branches: list[Any], place: str) -> Iterator[str]:
    for at, branch in enumerate(branches):
        if isinstance(branch, list):
            yield f"{_at(place)}a union stands in a union"
        elif isinstance(branch, str) and branch in branches[:at]:
            yield f"{_at(place)}{branch} is there twice in one union"
        else:
            yield from mistakes(branch, place)


def _of_name(named: Mapping[str, Any], what: str, place: str) -> Iterator[str]:
    """Names of types may have a namespace before them."""
    name = named.get("name")
    if name is None:
        yield f"{_at(place)}{what} has no name"
    elif not isinstance(name, str) or not all(map(AVRO_NAME.fullmatch, name.split("."))):
        yield f"{_at(place)}{what} is called {_shown(name)}: {_NAMED}"


def _of_fields(fields: Any, place: str) -> Iterator[str]:
    if not isinstance(fields, list) or not all(isinstance(field, dict) for field in fields):
        yield f"{_at(place)}the fields of a record are a list of objects, not {_shown(fields)}"
        return
    names = [field.get("name") for field in fields]
    for at, (name, field) in enumerate(zip(names, fields, strict=True)):
        if not isinstance(name, str) or not AVRO_NAME.fullmatch(name):
            yield f"{_at(place)}field {at} is called {_shown(name)}: {_NAMED}"
            continue
        inner = f"{place}.{name}" if place else name
        if names.index(name) < at:
            yield f"field {inner} is there {'twice' if names.count(name) == 2 else f'{names.count(name)} times'}"
        elif "type" in field:
            yield from mistakes(field["type"], inner)
        else:
            yield f"field {inner} has no type"


def _of_symbols(symbols: Any, place: str) -> Iterator[str]:
    if not isinstance(symbols, list):
        yield f"{_at(place)}the symbols of an enum are a list, not {_shown(symbols)}"
        return
    for at, symbol in enumerate(symbols):
        if not isinstance(symbol, str) or not AVRO_NAME.fullmatch(symbol):
            yield f"{_at(place)}symbol {at} is {_shown(symbol)}: {_NAMED}"
        elif symbol in symbols[:at]:
            yield f"{_at(place)}symbol {symbol} is there twice"


_NAMED = "a name has letters, digits and '_', and begins with no digit"


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def _shown(value: Any) -> str:
    """As it is written; of what is long, the beginning."""
    told = json.dumps(value, ensure_ascii=False)
    return told if len(told) <= _TOLD else f"{told[:_TOLD]}…"

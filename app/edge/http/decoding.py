"""JSON to documents; one that names a field twice is none, as nobody can tell which of the two was meant.

orjson keeps the last of them and does not say so. What it reads has as many names as there are colons, or fewer: where
all colons are those of the names that were kept, none came twice. Else, as where a text has a colon, it is read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson

from app.edge.http.problems import Problem
from app.edge.intake.encoding import AnyJson, NoDocument

COLON = b":"
MOST_NAME_LETTERS = 200
"""That are told of a name."""


def document(line: bytes) -> AnyJson:
    """Of a line; one that is no JSON is told in its place."""
    try:
        found: AnyJson = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return NoDocument(f"no JSON: {error}")
    return _checked(line, [found])[0]


def documents(body: bytes) -> list[AnyJson]:
    """Of a body that is one, or a list of them. The `bad-request` problem where it is neither."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem("bad-request", f"What was sent is no JSON: {error}.") from None
    return _checked(body, found if isinstance(found, list) else [found])


def _checked(text: bytes, found: list[AnyJson]) -> list[AnyJson]:
    if text.count(COLON) == sum(len(one) for one in found if isinstance(one, dict)):
        return found
    try:
        again = json.loads(text, object_pairs_hook=_named_once)
    except RecursionError:
        return [NoDocument("it, or what came with it, has lists and objects too deep within one another")] * len(found)
    told = again if isinstance(again, list) and len(again) == len(found) else [again]
    return [why if isinstance(why, NoDocument) else one for one, why in zip(found, told, strict=True)]


def _named_once(pairs: Iterable[tuple[str, Any]]) -> Any:
    """An object; NoDocument where it, or one in it, names something twice."""
    named: dict[str, Any] = {}
    for name, value in pairs:
        if name in named:
            return NoDocument(f"{name[:MOST_NAME_LETTERS]}: it is there twice")
        if isinstance(value, NoDocument):
            return value
        named[name] = value
    return named

"""The shape of a table of the definition file: which keys it has, of which types. What they mean is the domain's.

Wrong keys are noted with their place, and the others are handed on, so that one reading names every mistake.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from app.domain.errors import did_you_mean

MAX_SECONDS = 100 * 366 * 86_400
"""A hundred years: longer times would not fit into 64 bits of microseconds once they are added up."""

Seconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]
Made = TypeVar("Made")
TomlTable = Mapping[str, Any]


class Shape(BaseModel):
    """Refuses what it does not know, and reads no text as a number."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Problems(list[str]):
    """Mistakes, each behind its place in the file."""

    def note(self, place: str, *found: str) -> None:
        self += [f"{place}: {problem}" for problem in found]


def fitted(shape: type[BaseModel], given: Any, place: str, problems: Problems) -> dict[str, Any]:
    """The values of those keys that fit, defaults included; what does not fit is noted, and is left out."""
    if not isinstance(given, Mapping):
        problems.note(place, f"expected a table (it is {given!r})")
        return {}
    try:
        return dict(_validated(shape, given))
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
    for mistake in mistakes:
        problems.note(".".join((place, *map(str, mistake["loc"]))), _told(mistake, shape))
    wrong = {str(mistake["loc"][0]) for mistake in mistakes}
    keys: dict[str, Any] = dict.fromkeys(wrong & set(shape.model_fields), (Any, None))
    rest: type[BaseModel] = create_model(shape.__name__, __base__=shape, **keys)
    values = dict(_validated(rest, {key: value for key, value in given.items() if key not in wrong}))
    for key in keys:
        del values[key]
        if not shape.model_fields[key].is_required():
            values[key] = shape.model_fields[key].get_default(call_default_factory=True)
    return values


def tagged(kinds: Mapping[str, type[Made]], given: Any, place: str, problems: Problems, **known: Any) -> Made | None:
    """What the table's `kind` names, made from its other keys and what is `known`; None if it is not right."""
    if not isinstance(given, Mapping):
        problems.note(place, f"expected a table (it is {given!r})")
        return None
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        said = "is missing" if kind is None else f"there is no {kind!r}{did_you_mean(str(kind), kinds)}"
        problems.note(f"{place}.kind", f"{said}; it is one of {', '.join(kinds)}")
        return None
    before = len(problems)
    shape = shape_of(kinds[kind], tuple(known))  # type: ignore[arg-type]
    values = fitted(shape, {key: value for key, value in given.items() if key != "kind"}, place, problems)
    return kinds[kind](**known, **values) if len(problems) == before else None


def tables(given: Any, place: str, problems: Problems) -> dict[str, Any]:
    """The tables in a table, by name."""
    if isinstance(given, Mapping):
        return dict(given)
    problems.note(place, f"expected a table (it is {given!r})")
    return {}


@cache
def shape_of(made: type[Any], known: tuple[str, ...]) -> type[BaseModel]:
    """The keys from which a dataclass of the domain is made: its fields, without those that are known already."""
    hints = get_type_hints(made)
    keys = {
        field.name: (
            Seconds if field.name.endswith("_seconds") else hints[field.name],
            ... if field.default is MISSING else field.default,
        )
        for field in fields(made)
        if field.init and field.name not in known
    }
    return create_model(made.__name__, __base__=Shape, **keys)  # type: ignore[call-overload,no-any-return]


def _validated(shape: type[BaseModel], given: TomlTable) -> Iterable[tuple[str, Any]]:
    """As JSON: strict about numbers and texts, while a list may become a tuple and a word one of an enumeration."""
    return shape.model_validate_json(json.dumps(given, default=str), strict=True)


def _told(mistake: Mapping[str, Any], shape: type[BaseModel]) -> str:
    if mistake["type"] == "extra_forbidden":
        key = str(mistake["loc"][-1])
        near = did_you_mean(key, shape.model_fields)
        return f"there is no such key{near or '; there are: ' + ', '.join(shape.model_fields)}"
    if mistake["type"] == "missing":
        return "is missing"
    given = mistake["input"]
    shown = f" (it is {given!r})" if isinstance(given, str | int | float) else ""
    said = str(mistake["msg"]).removeprefix("Value error, ")
    return f"{said[0].lower()}{said[1:]}{shown}"

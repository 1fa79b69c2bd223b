"""Which licence a part is under, in SPDX's words, and whether it may go where it goes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from license_expression import AND, OR, ExpressionError, get_spdx_licensing

from scripts.release.part import Part, Reach

TABLE = Path(__file__).with_name("licences.toml")
SPDX = get_spdx_licensing()


class LicenceUnknown(Exception):
    """No line of `licences.toml` knows what parts are under. Look it up, and add one."""


def licence(part: Part) -> str:
    """An SPDX expression: a choice among those that one description names, and what all its descriptions say together,
    as nobody says which of them is of what. Of some parts the table says it, by name.

    Raises LicenceUnknown."""
    table = _table()["named" if part.told else "silent"]
    if (by_name := _first(table, part.name, whole=True)) is not None:
        return _joined("AND", [by_name])
    found = {told: _expression(told) for choice in part.told for told in choice}
    lacking = [told for told, one in found.items() if one is None] if found else ["says nothing"]
    if lacking:
        raise LicenceUnknown(f"{part.name} {part.version}: {'; '.join(lacking)}")
    return _joined("AND", [_joined("OR", [found[told] or "" for told in choice]) for choice in part.told])


def _joined(word: str, expressions: Iterable[str]) -> str:
    """Each once, and in one order."""
    return str(SPDX.parse(f" {word} ".join(f"({one})" for one in expressions)).simplify())


def refused(parts: Iterable[tuple[Part, str]]) -> list[str]:
    """Parts whose licence forbids the way that they come by, in words."""
    return [
        f"{part.name} {part.version} ({part.reach}): {expression}"
        for part, expression in parts
        if not _is_allowed(SPDX.parse(expression), _allowed(part.reach))
    ]


def _is_allowed(expression: Any, allowed: frozenset[str]) -> bool:
    """Of a choice one is enough; of what holds together each counts."""
    if isinstance(expression, OR):
        return any(_is_allowed(one, allowed) for one in expression.args)
    if isinstance(expression, AND):
        return all(_is_allowed(one, allowed) for one in expression.args)
    return str(expression) in allowed


@cache
def _allowed(reach: Reach) -> frozenset[str]:
    shipped, fetched = _table()["shipped"], _table()["fetched"]
    also = fetched["also"] if reach is Reach.FETCHED else []
    return frozenset([*shipped["permissive"], *shipped["by_file"], *also])


def _expression(told: str) -> str | None:
    try:
        parsed = SPDX.parse(told, validate=True, strict=True)  # else an exception passes for a licence of its own
    except ExpressionError:
        return _first(_table()["told"], told)
    return str(parsed) if parsed is not None else None


def _first(lines: Sequence[dict[str, Any]], text: str, *, whole: bool = False) -> str | None:
    """Of the first line one of whose patterns is in the text, or begins it."""
    find = re.match if whole else re.search
    return next((one["spdx"] for one in lines if any(find(p, text, re.IGNORECASE) for p in one["of"])), None)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text())

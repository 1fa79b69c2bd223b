"""The definition file: sources and views of a user's own, beside those that flagfall brings.

docs/definitions.md explains every key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.base.files.bounded import read_bounded
from app.definitions.shapes import Problems, tables
from app.definitions.sources import ReadSource, read_source
from app.definitions.views import read_view
from app.domain.catalogue import Catalogue, clashes
from app.domain.errors import DefinitionError, did_you_mean
from app.domain.fingerprint import INT64_MAX, INT64_MIN

TABLES = ("sources", "views")
MAX_NESTING = 100
TOO_DEEP = f"more than {MAX_NESTING} lists and tables lie within one another: nobody reads such a file"
TOO_LONG = "it is no TOML: a number has more than 64 bits"
"""Python shows none of thousands of digits, not even to refuse it."""


def read_definitions(path: Path, shipped: Catalogue, known: Catalogue | None = None) -> Catalogue:
    """What is shipped, and what the file adds; `known` has what may be shipped another day, whose numbers and names are
    taken as well. DefinitionError naming every mistake, each with its place."""
    return defined(_parsed(path), shipped, str(path), known)


def defined(document: Mapping[str, Any], shipped: Catalogue, origin: str, known: Catalogue | None = None) -> Catalogue:
    """`read_definitions` of what the file says; mistakes are told with the document's origin."""
    known = known or shipped
    problems = Problems()
    for key in document:
        if key not in TABLES:
            problems.note(key, f"there is no such table{did_you_mean(key, TABLES) or '; there are: sources, views'}")
    told = tables(document.get("sources", {}), "sources", problems).items()
    read = {name: read_source(name, given, f"sources.{name}", problems) for name, given in told}
    over = {source.name: ReadSource(source, source) for source in shipped.sources} | read
    told = tables(document.get("views", {}), "views", problems).items()
    views = [read_view(name, given, over, f"views.{name}", problems) for name, given in told]
    sources = [one.source for one in read.values() if one.source is not None]
    given = [(view.number, view.name) for view in known.views] + [view.told for view in views if view.told]
    problems += clashes((*known.given, *sources), given)
    if problems:
        raise DefinitionError(f"{origin} is not usable", problems)
    return shipped.extended(sources, [one.view for one in views if one.view is not None])


def _parsed(path: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(read_bounded(path))
        said = _unreadable(document)
    except OSError as error:
        said = f"it cannot be read ({error.strerror}); FLAGFALL_DEFINITIONS names it"
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        said = f"it is no TOML: {error}"
    except RecursionError:
        said = TOO_DEEP
    except ValueError:
        said = TOO_LONG
    if said is not None:
        raise DefinitionError(f"{path} is not usable", [said])
    return document


def _unreadable(document: Mapping[str, Any]) -> str | None:
    """What of it, well written as it is, nothing that looks at it could take."""
    level: list[Any] = [document]
    for _ in range(MAX_NESTING + 1):
        if any(isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX for value in level):
            return TOO_LONG
        held = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [inner for parts in held for inner in parts]
    return TOO_DEEP if level else None

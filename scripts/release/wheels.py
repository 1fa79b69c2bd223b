"""The distributions that the image's Python has, as they are installed here."""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from scripts.release.archives import CHECKOUT
from scripts.release.locks import NotAsInTheImage, locked
from scripts.release.part import Part, Reach

CLASSIFIER = "License :: "
LICENCE_FILE = re.compile(r"(^|/)(LICEN[CS]E|COPYING)[^/]*$", re.IGNORECASE)
BUNDLED = re.compile(r"\.(?:dy)?libs/(?:.*/)?([^/]+)$")
"""Where auditwheel and delocate put libraries that a wheel's own modules are linked to."""
FIRST_WORDS = 120


def wheels(checkout: Path = CHECKOUT) -> list[Part]:
    """All but flagfall itself, by name. NotAsInTheImage where one has another version here, or is not here."""
    pinned = sorted(locked(checkout).items())
    found = [(name, version, _installed(name)) for name, version in pinned]
    differ = [
        f"{name} {version}, here {one.version if one else 'none'}"
        for name, version, one in found
        if one is None or one.version != version
    ]
    if differ:
        raise NotAsInTheImage("\n".join(["the image has other wheels: remove .venv, then `make setup`", *differ]))
    return [_part(name, one) for name, _, one in found if one]


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _part(name: str, one: Distribution) -> Part:
    inside = (BUNDLED.search(file.as_posix()) for file in one.files or ())
    bundled = tuple(sorted(found[1] for found in inside if found))
    return Part(name, one.version, f"pkg:pypi/{name}@{one.version}", Reach.SHIPPED, _told(one), bundled=bundled)


def _told(one: Distribution) -> tuple[tuple[str, ...], ...]:
    """The expression, where there is one; else classifiers; else the field; else how the licence's text begins.

    Nothing says that several classifiers were a choice: each counts.
    """
    return tuple((words,) for words in _words(one))


def _words(one: Distribution) -> tuple[str, ...]:
    facts = one.metadata
    if "License-Expression" in facts:
        return (facts["License-Expression"],)
    told = [one for one in facts.get_all("Classifier") or () if one.startswith(CLASSIFIER)]
    if not told and "License" in facts and (field := facts["License"].strip()):
        return (field.splitlines()[0],)
    return tuple(one.removeprefix(CLASSIFIER) for one in told) or _of_text(one)


def _of_text(one: Distribution) -> tuple[str, ...]:
    texts = [file for file in one.files or () if LICENCE_FILE.search(str(file))]
    return tuple(" ".join(text.read_text().split())[:FIRST_WORDS] for text in texts)

"""The distributions that flagfall needs to run, as they are installed here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement

from scripts.release.part import Part, Reach

OWN = "flagfall"
CLASSIFIER = "License :: "
LICENCE_FILE = re.compile(r"(^|/)(LICEN[CS]E|COPYING)[^/]*$", re.IGNORECASE)
FIRST_WORDS = 120


def wheels() -> list[Part]:
    """All but flagfall itself, by name. PackageNotFoundError where one is not installed."""
    found = {_normal(one.name): one for one in _needed(OWN)}
    del found[OWN]
    return [_part(name, one) for name, one in sorted(found.items())]


def _needed(name: str) -> Iterator[Distribution]:
    waiting, seen = [(name, frozenset[str]())], set[tuple[str, frozenset[str]]]()
    while waiting:
        name, extras = waiting.pop()
        if (_normal(name), extras) in seen:
            continue
        seen.add((_normal(name), extras))
        one = distribution(name)
        yield one
        for_it = (one for one in map(Requirement, one.requires or ()) if _holds(one, extras))
        waiting.extend((one.name, frozenset(one.extras)) for one in for_it)


def _holds(requirement: Requirement, extras: frozenset[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in ("", *extras))


def _part(name: str, one: Distribution) -> Part:
    return Part(name, one.version, f"pkg:pypi/{name}@{one.version}", Reach.SHIPPED, _told(one))


def _told(one: Distribution) -> tuple[str, ...]:
    """The expression, where there is one; else classifiers; else the field; else how the licence's text begins."""
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


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

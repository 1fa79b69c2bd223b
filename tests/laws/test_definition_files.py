"""A definition file says what it says, or is refused in words: whatever stands in it."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.definitions.read import defined
from app.domain.errors import DefinitionError
from app.domain.measures.contract import Measure
from app.domain.view import View
from app.domain.windows.contract import Window
from app.rides.shipped import SHIPPED
from tests.support.material.bike_trips import EXAMPLE
from tests.support.material.views import ALL_VIEWS

DOCUMENT = tomllib.loads(EXAMPLE.read_text("utf-8"))
WORDS = ["kind", "number", "columns", "bike_trips", "rides", "member", "sum", "text", "start_station", "", "a b", "é"]
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(WORDS), st.dates()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=3)),
    max_leaves=5,
)


def places(table: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Every key of the document, with the table that it stands in."""
    for key, value in table.items():
        yield table, key
        if isinstance(value, dict):
            yield from places(value)


@given(st.data())
def test_any_change_to_a_file_leaves_it_usable_or_is_refused_in_words(data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENT)
    for _ in range(data.draw(st.integers(1, 4))):
        found = list(places(document))
        if not found:
            break
        table, key = data.draw(st.sampled_from(found))
        change = data.draw(st.sampled_from(["remove", "rename", "replace"]))
        value = table.pop(key)
        if change == "rename":
            table[data.draw(st.sampled_from(WORDS))] = value
        elif change == "replace":
            table[key] = data.draw(ANYTHING)
    try:
        catalogue = defined(document, SHIPPED, "it")
    except DefinitionError as error:
        refused: DefinitionError | None = error
    else:
        refused = None
        assert len(catalogue.views) == len(SHIPPED.views) + len(document.get("views", {}))
    assert refused is None or refused.problems


@pytest.mark.parametrize("view", ALL_VIEWS, ids=lambda view: view.name)
def test_a_view_that_is_written_down_is_read_as_it_was(view: View) -> None:
    again = f"{view.name}_again"
    catalogue = defined({"views": {again: written(view, number=500)}}, SHIPPED, "it")
    read = catalogue.view(again)
    assert (read.version, read.parts, read.groups, read.retention_seconds) == (
        replace(view, number=500).version,
        view.parts,
        view.groups,
        view.retention_seconds,
    )


def written(view: View, number: int) -> dict[str, Any]:
    """A view as a table of the file."""
    ends = {"grace_seconds": view.grace_seconds} if view.window.ends else {}
    return {
        "number": number,
        "source": view.source.name,
        "groups": {group.name: group.column for group in view.groups},
        "window": tagged(view.window),
        "measures": {measure.name: tagged(measure) for measure in view.measures},
        "retention_seconds": view.retention_seconds,
        "help": view.help,
        "leaves_out": list(view.leaves_out),
        **ends,
    }


def tagged(made: Window | Measure) -> dict[str, Any]:
    keys = {
        key: list(said) if isinstance(said, tuple) else said for key, said in made.fields().items() if key != "name"
    }
    return {"kind": made.key, **keys}

"""A file with a schema is taken for what it is: an Avro schema, or words about why it is none."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.definitions.proposed import NoSchema, parsed
from app.rides.ride import avro_schema

WORDS = st.sampled_from(["record", "enum", "array", "map", "fixed", "long", "string", "null", "R", "a.b", "", "1x"])
KEYS = st.sampled_from(["type", "name", "fields", "items", "values", "symbols", "size", "default", "aliases", "doc"])
LEAVES = WORDS | st.none() | st.integers() | st.floats() | st.booleans() | st.text(max_size=3)


def _branches(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=5)


TREES = st.recursive(LEAVES, _branches, max_leaves=12)
NAMED = st.fixed_dictionaries(
    {"type": WORDS, "name": WORDS},
    optional=dict.fromkeys(("fields", "symbols", "size", "items", "values", "aliases", "default"), TREES),
)


@given(st.text() | TREES.map(json.dumps) | NAMED.map(json.dumps))
def test_any_text_is_a_schema_or_is_refused_in_words(text: str) -> None:
    with contextlib.suppress(NoSchema):
        parsed(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no Avro schema"),
        ('{"type": "lang"}', "there is no type"),
        ('{"type": "record", "name": "R", "fields": [3]}', "it is no Avro schema"),
    ],
)
def test_what_is_none_is_told_why(text: str, told: str) -> None:
    with pytest.raises(NoSchema, match=told):
        parsed(text)


def test_a_schema_comes_back_as_it_is_written() -> None:
    assert parsed(json.dumps(avro_schema())) == avro_schema()

"""A file with a schema is taken for what it is: an Avro schema, or words about why it is none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.definitions.proposed import NoSchema, parsed
from app.edge.cli.main import run
from app.rides.ride import avro_schema

WORDS = st.sampled_from(["record", "enum", "array", "map", "fixed", "long", "string", "null", "R", "a.b", "", "1x"])
KEYS = st.sampled_from(["type", "name", "fields", "items", "values", "symbols", "size", "default", "aliases", "doc"])
LEAVES = WORDS | st.none() | st.integers() | st.floats() | st.booleans() | st.text(max_size=3)


def _branches(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=5)


def record(*fields: Any) -> str:
    """With longs of these names; a field that is a type is called `b`."""
    told = [{"name": f, "type": "long"} if isinstance(f, str) else {"name": "b", "type": f} for f in fields]
    return json.dumps({"type": "record", "name": "R", "fields": told})


TREES = st.recursive(LEAVES, _branches, max_leaves=12)
NAMED = st.fixed_dictionaries(
    {"type": WORDS, "name": WORDS},
    optional=dict.fromkeys(("fields", "symbols", "size", "items", "values", "aliases", "default"), TREES),
)


def told_of(text: str) -> str:
    """Why it is refused; nothing if it is not."""
    try:
        parsed(text)
    except NoSchema as refused:
        return str(refused)
    return ""


@given(st.text() | TREES.map(json.dumps) | NAMED.map(json.dumps))
def test_any_text_is_a_schema_or_is_refused_in_words_that_are_not_pythons(text: str) -> None:
    assert not re.search(r"NoneType|' object|unhashable|recursion|argument of type|schema: '", told_of(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is no JSON: Expecting value"),
        ("[" * 100_000, "more than 200 lists and objects lie within one another"),
        ("[" * 300 + "]" * 300, "more than 200 lists and objects lie within one another"),
        ("9" * 5_000, "a number has thousands of digits"),
        ("42", "42 is no type"),
        ("null", "null is no type"),
        ('{"type": "array", "items": 3}', "3 is no type"),
        ('{"type": "array"}', "the array has no items"),
        ('{"name": "x"}', "an object has no type"),
        ('{"type": "record", "name": "R", "fields": 3}', "the fields of a record are a list of objects, not 3"),
        ('{"type": "record", "fields": []}', "the record has no name"),
        ('{"type": "record", "name": ["R"], "fields": []}', "the record is called"),
        ('{"type": "record", "name": "R", "fields": [{"name": "a"}]}', "field a has no type"),
        ('{"type": "enum", "name": "E", "symbols": ["A", "A"]}', "symbol A is there twice"),
        ('{"type": "fixed", "name": "F", "size": "x"}', "the size of the fixed is"),
        ('["long", "long"]', "long is there twice in one union"),
        ('[["long"]]', "a union stands in a union"),
        (record("ride_id", "ride_id"), "field ride_id is there twice"),
        (record("[red]"), "field 0 is called \"\\[red\\]\": a name has letters, digits and '_'"),
        (record("a", {"type": "record", "name": "In", "fields": 1}), "b: the fields of a record are a list"),
        ('{"type": "lang"}', "there is no type"),
        ('{"type": "record", "name": "R", "fields": [3]}', "it is no Avro schema"),
    ],
)
def test_what_is_none_is_told_why(text: str, told: str) -> None:
    with pytest.raises(NoSchema, match=told):
        parsed(text)


def test_a_schema_comes_back_as_it_is_written() -> None:
    assert parsed(json.dumps(avro_schema())) == avro_schema()


def test_a_file_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nul.avsc"
    file.write_bytes(b"\xff\xfe\0")
    assert run(["schemas", "check", str(file), "--topic", "rides.yellow"]) == 1
    told = capsys.readouterr().err
    assert f"{file} is no text in UTF-8" in told
    assert len(told.splitlines()) == 1

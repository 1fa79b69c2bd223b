"""Documents are what was sent: one that names a field twice is none, whatever else is in it."""

from __future__ import annotations

import json

import pytest

from app.edge.http.decoding import document, documents
from app.edge.intake.encoding import NoDocument

TWICE = NoDocument("a: it is there twice")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '{"a":":","b":{"c":1},"a":2}', '{"b": {"a": 1, "a": 2}}', '{"a": 1, "\\u0061": 2}'],
)
def test_a_field_that_is_there_twice_is_told(text: str) -> None:
    assert document(text.encode()) == TWICE
    assert documents(f'[{{"a": 1}}, {text}, {{"b": "c:d"}}]'.encode()) == [{"a": 1}, TWICE, {"b": "c:d"}]
    assert documents(text.encode()) == [TWICE]


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "b": 2}', '{"a": "12:00:00"}', '{"a": {"a": 1}}', '[{"a": 1}, {"a": 2}]', "[]", "1", '"a:b"', "{}"],
)
def test_what_names_each_field_once_is_taken_as_it_is(text: str) -> None:
    assert document(text.encode()) == json.loads(text)


def test_what_is_too_deep_is_told() -> None:
    deep = '{"a":' * 1_000 + "1" + "}" * 1_000
    assert isinstance(document(deep.encode()), NoDocument)

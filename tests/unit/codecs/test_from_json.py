"""Plain JSON as Avro: what fits a schema is written as it stands, and what does not is told by its field."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.avro.from_json import JsonWriter, NotOfSchema
from app.codecs.avro.schema import HEADER_BYTES, WriterSchema
from app.codecs.avro.strict import StrictDecoder
from app.rides.ride import RIDES, avro_schema

ODD = {
    "type": "record",
    "name": "Odd",
    "namespace": "made.up",
    "fields": [
        {"name": "a", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["X", "Y"]}},
        {"name": "inner", "type": {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "int"}]}},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "list", "type": {"type": "array", "items": "int"}, "default": []},
        {"name": "map", "type": {"type": "map", "values": ["null", "double"]}, "default": {}},
        {"name": "bytes", "type": "bytes", "default": "\u00ff"},
        {"name": "two", "type": {"type": "fixed", "name": "Two", "size": 2}, "default": "ab"},
        {"name": "float", "type": "float", "default": 0},
        {"name": "any", "type": ["null", "Inner", "Kind", "string", "long", "boolean"], "default": None},
        {"name": "deep", "type": ["null", {"type": "array", "items": ["null", "Inner"]}], "default": None},
    ],
}
LEAST: dict[str, Any] = {"a": 1, "at": 3, "kind": "X", "inner": {"x": 1}}
DEFAULTS: dict[str, Any] = {
    "text": None,
    "list": [],
    "map": {},
    "bytes": b"\xff",
    "two": b"ab",
    "float": 0,
    "any": None,
    "deep": None,
}


@pytest.fixture(scope="module")
def odd() -> JsonWriter:
    return JsonWriter(WriterSchema(7, json.dumps(ODD)))


def read(writer: JsonWriter, value: bytes) -> Any:
    assert value[:HEADER_BYTES] == writer.schema.header
    body = io.BytesIO(value[HEADER_BYTES:])
    found = fastavro.schemaless_reader(body, writer.schema.parsed, None)
    assert body.read() == b""
    return found


@pytest.mark.parametrize(
    "more",
    [
        {},
        {
            "text": "né",
            "list": [1, -2],
            "map": {"k": 1.5, "none": None},
            "bytes": "\u0000\u00fe",
            "two": "cd",
            "float": 2,
        },
        {"any": {"x": 3}},
        {"any": "X"},
        {"any": "Z"},
        {"any": 4},
        {"any": True},
        {"deep": [{"x": 1}, None]},
        {"a": 2**63 - 1, "at": -(2**63)},
    ],
)
def test_what_fits_is_written_as_it_stands(odd: JsonWriter, more: dict[str, Any]) -> None:
    wanted = {name: value.encode("latin-1") if name in ("bytes", "two") else value for name, value in more.items()}
    assert read(odd, odd.write(LEAST | more)) == LEAST | DEFAULTS | wanted


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (5, "a record is a JSON object, not 5"),
        ({"a": 1}, "at: it is missing"),
        (LEAST | {"a": "x"}, 'a: "x" is no long'),
        (LEAST | {"a": None}, "a: null is no long"),
        (LEAST | {"a": True}, "a: true is no long"),
        (LEAST | {"a": 1.0}, "a: 1.0 is no long"),
        (LEAST | {"a": 2**63}, f"a: {2**63} is no long"),
        (LEAST | {"txet": 1}, "txet: there is no such field; did you mean 'text'?"),
        (LEAST | {"text": 3}, "text: 3 is no null or string"),
        (LEAST | {"text": "\ud800"}, '"\\ud800" has half of a letter, which no bytes can hold'),
        (LEAST | {"kind": "Q"}, 'kind: "Q" is no one of X, Y'),
        (LEAST | {"kind": ["X"]}, 'kind: ["X"] is no one of X, Y'),
        (LEAST | {"inner": {"x": 2**31}}, f"inner.x: {2**31} is no int"),
        (LEAST | {"inner": {}}, "inner.x: it is missing"),
        (LEAST | {"inner": {"x": 1, "y": 1}}, "inner.y: there is no such field"),
        (LEAST | {"inner": []}, "inner: a record is a JSON object, not []"),
        (LEAST | {"list": [1, "z"]}, 'list[1]: "z" is no int'),
        (LEAST | {"list": {}}, "list: {} is no array"),
        (LEAST | {"map": []}, "map: [] is no map"),
        (LEAST | {"map": {"k": "v"}}, 'map.k: "v" is no null or double'),
        (LEAST | {"bytes": "é€"}, 'bytes: "é€" is no bytes'),
        (LEAST | {"two": "abc"}, 'two: "abc" is no text of 2 bytes'),
        (LEAST | {"float": 1e300}, "float: 1e+300 is no float"),
        (LEAST | {"any": 4.5}, "any: 4.5 is no null or made.up.Inner or made.up.Kind or string or long or boolean"),
        (LEAST | {"deep": [{"y": 1}]}, "deep[0].y: there is no such field"),
    ],
)
def test_what_does_not_fit_is_told_by_its_field(odd: JsonWriter, document: Any, told: str) -> None:
    with pytest.raises(NotOfSchema) as refused:
        odd.write(document)
    assert str(refused.value) == told


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.text(st.characters(codec="utf-8")))
RIDE = JsonWriter(WriterSchema(9, json.dumps(avro_schema())))
STRICT = StrictDecoder(RIDES.columns)


@given(st.fixed_dictionaries({column.name: VALUES for column in RIDES.columns}))
def test_a_ride_of_any_values_is_read_as_it_was_sent_or_refused(document: dict[str, Any]) -> None:
    fits = all(
        (value is None and column.nullable) or type(value) is column.kind.python
        for column, value in zip(RIDES.columns, document.values(), strict=True)
    )
    if not fits:
        with pytest.raises(NotOfSchema):
            RIDE.write(document)
    else:
        assert STRICT.decode(RIDE.write(document), {9: RIDE.schema}) == document


@given(st.data())
def test_a_ride_that_fits_is_read_as_it_was_sent(data: st.DataObject) -> None:
    kinds = {int: st.integers(-(2**63), 2**63 - 1), str: st.text(st.characters(codec="utf-8")), bool: st.booleans()}
    document = {
        column.name: data.draw(kinds[column.kind.python] | st.none() if column.nullable else kinds[column.kind.python])
        for column in RIDES.columns
    }
    assert STRICT.decode(RIDE.write(document), {9: RIDE.schema}) == document

"""Avro values to columns: each kind of damage is isolated and named, and never touches its neighbours."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import polars as pl
import pytest

from app.codecs import avro_decode
from app.codecs.avro_decode import Decoded, WriterSchema, decode_block, decode_strict, schema_ids
from app.domain.records import Reason
from app.domain.source import Column, Kind


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Trip", "fields": list(fields)})


def nullable(name: str, avro_type: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", avro_type], "default": None}


ID = {"name": "id", "type": "string"}
NOW = WriterSchema(7, record(ID, nullable("cents", "long"), nullable("shared", "boolean"), nullable("note", "string")))
OLDER = WriterSchema(3, record(ID, nullable("cents", "long")))
STAMPED = WriterSchema(
    4,
    record(ID, {"name": "cents", "type": {"type": "long", "logicalType": "timestamp-micros"}}),
)
UNKNOWN_ID = 99
SCHEMAS = {NOW.id: NOW, OLDER.id: OLDER, STAMPED.id: STAMPED, UNKNOWN_ID: None}
COLUMNS = (
    Column("id", Kind.TEXT, False),
    Column("cents", Kind.INTEGER, True),
    Column("shared", Kind.FLAG, True),
    Column("note", Kind.TEXT, True),
)


def encoded(schema: WriterSchema = NOW, **values: Any) -> bytes:
    out = io.BytesIO()
    out.write(schema.header)
    fastavro.schemaless_writer(out, schema.parsed, values)
    return out.getvalue()


GOOD = encoded(id="a", cents=3, shared=True, note="x")
ROW = {"id": "a", "cents": 3, "shared": True, "note": "x"}


def decoded(*values: bytes | None) -> Decoded:
    return decode_block(values, SCHEMAS, COLUMNS)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.NULL_VALUE),
        (b"", Reason.TOO_SHORT),
        (b"\x00\x00\x00\x00", Reason.TOO_SHORT),
        (NOW.header, Reason.TOO_SHORT),
        (b"\x01" + GOOD[1:], Reason.BAD_MAGIC),
        (b"\x00\x00\x00\x00\x63" + GOOD[5:], Reason.UNKNOWN_SCHEMA),
        (GOOD[:-1], Reason.UNDECODABLE),
        (GOOD[:6], Reason.UNDECODABLE),
        (NOW.header + b"\x02\xff\x00\x00\x00", Reason.UNDECODABLE),
        (NOW.header + b"\x01\x00\x00\x00", Reason.UNDECODABLE),
        (NOW.header + b"\x02a\x04\x06\x02\x01\x00", Reason.UNDECODABLE),
        (NOW.header + b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01a", Reason.UNDECODABLE),
        (GOOD + b"\x00", Reason.TRAILING_BYTES),
        (GOOD + GOOD[5:], Reason.TRAILING_BYTES),
    ],
    ids=[
        "null", "empty", "half a header", "header only", "magic", "unknown schema", "one byte cut off", "cut in a text",
        "text that is no UTF-8", "text of negative length", "third branch of a union of two", "text of 2**62 bytes",
        "one byte too many", "two records in one",
    ],
)  # fmt: skip
def test_damage_is_named_and_its_neighbours_are_kept(value: bytes | None, reason: Reason) -> None:
    """The same value alone and between good ones: what becomes of a record must not depend on its batch."""
    alone, between = decoded(value), decoded(GOOD, value, GOOD)
    assert alone.refused == [(0, reason)]
    assert alone.frame.height == 0
    assert alone.frame.columns == [column.name for column in COLUMNS]
    assert between.refused == [(1, reason)]
    assert between.kept.tolist() == [0, 2]
    assert between.frame.to_dicts() == [ROW, ROW]


def test_good_records_are_read_by_block_in_their_order() -> None:
    rows = [{"id": str(n), "cents": n if n % 3 else None, "shared": n % 2 == 0, "note": None} for n in range(300)]
    found = decoded(*(encoded(NOW, **row) for row in rows))
    assert found.refused == []
    assert found.kept.tolist() == list(range(300))
    assert found.frame.to_dicts() == rows


def test_a_block_of_one_record() -> None:
    assert decoded(GOOD).frame.to_dicts() == [ROW]


def test_no_records_are_an_empty_frame_of_the_right_types() -> None:
    frame = decoded().frame
    assert frame.schema == pl.Schema({"id": pl.String, "cents": pl.Int64, "shared": pl.Boolean, "note": pl.String})
    assert frame.height == 0


def test_a_frame_has_the_same_types_whichever_way_it_was_read() -> None:
    """Behind the first damage values go the slow way; a column of nulls must still be one of integers."""
    empty = encoded(id="a")
    assert decoded(empty, None).frame.schema == decoded(empty).frame.schema == decoded().frame.schema


def test_what_an_older_writer_did_not_know_is_null() -> None:
    assert decoded(encoded(OLDER, id="b", cents=1)).frame.to_dicts() == [
        {"id": "b", "cents": 1, "shared": None, "note": None}
    ]


def test_records_of_several_schemas_keep_the_order_of_the_batch() -> None:
    found = decoded(
        encoded(OLDER, id="0"), GOOD, None, encoded(OLDER, id="3", cents=3), encoded(NOW, id="4"), GOOD[:-1]
    )
    assert found.frame["id"].to_list() == ["0", "a", "3", "4"]
    assert found.kept.tolist() == [0, 1, 3, 4]
    assert found.refused == [(2, Reason.NULL_VALUE), (5, Reason.UNDECODABLE)]


@pytest.mark.parametrize("companions", [(), (None,)], ids=["by block", "one by one"])
def test_an_instant_of_a_logical_type_is_the_number_that_was_written(companions: tuple[None, ...]) -> None:
    """Even one that no calendar holds: bounds are for the source to say."""
    written = encoded(STAMPED, id="b", cents=2**60)
    assert decoded(written, *companions).frame["cents"].to_list() == [2**60]


def test_a_short_record_beside_a_long_one_is_seen_by_the_sentinel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read instead of four records, when only headers and the block's length are looked at:

    |head a 0.5|head a 1.5|head "ab<2.5>" null null null <no sentinel>|head c null null null 3.5|
    """
    monkeypatch.setattr(avro_decode, "_is_what_stands_there", lambda *_: True)
    swallowing = NOW.header + b"\x14ab"  # says ten bytes of text, has two: takes the eight behind it
    making_up = NOW.header + bytes(6) + NOW.header + b"\x02c\x00\x00\x00"
    found = decoded(GOOD, GOOD, swallowing, making_up)
    assert found.refused == [(2, Reason.UNDECODABLE), (3, Reason.TRAILING_BYTES)]
    assert found.frame.to_dicts() == [ROW, ROW]


def test_a_byte_moved_between_neighbours_damages_both_and_no_other() -> None:
    found = decoded(GOOD, GOOD[:-1], GOOD[:5] + b"x" + GOOD[5:], GOOD)
    assert [index for index, _ in found.refused] == [1, 2]
    assert found.frame.to_dicts() == [ROW, ROW]


@pytest.mark.parametrize("flag", [2, 255])
def test_an_odd_flag_is_read_alike_alone_and_beside_damage(flag: int) -> None:
    """Polars and fastavro read such a byte differently; no writer makes it, damage does."""
    odd = NOW.header + b"\x02a\x00\x02" + bytes((flag,)) + b"\x00"
    assert decoded(odd).frame.to_dicts() == decoded(odd, None).frame.to_dicts() == [decode_strict(odd, SCHEMAS)]


def test_a_panic_of_polars_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no Exception, so that it would pass every ordinary guard and end the worker."""
    assert not issubclass(avro_decode.polars_panic, Exception)

    def panic(_: object) -> pl.DataFrame:
        raise avro_decode.polars_panic("range end index out of range")

    monkeypatch.setattr(pl, "read_avro", panic)
    assert decoded(GOOD, GOOD).frame.to_dicts() == [ROW, ROW]


def test_schema_ids_are_those_of_well_formed_headers() -> None:
    assert schema_ids([GOOD, encoded(OLDER, id="b"), None, b"", b"\x01" + GOOD[1:], b"\x00\x00"]) == {3, 7}
    assert schema_ids([NOW.header]) == {7}

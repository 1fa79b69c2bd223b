"""Avro values to columns: each kind of damage is isolated and named, and never touches its neighbours."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from app.codecs.avro.column_arrays import ColumnArrays, Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import Unreadable
from app.codecs.avro.walk import SOUND
from app.domain.records import Reason
from app.domain.source import Column, Kind
from tests.support.material.schemas.plain import (
    COLUMNS,
    GOOD,
    ID,
    NOW,
    OLDER,
    ROW,
    SCHEMAS,
    STAMPED,
    STRICT,
    decoded,
    encoded,
    record,
)


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


@pytest.mark.parametrize("length", range(len(GOOD)))
def test_a_value_cut_off_anywhere_fares_in_a_block_as_alone(length: int) -> None:
    told = STRICT.decode(GOOD[:length], SCHEMAS)
    assert isinstance(told, Unreadable)
    assert decoded(GOOD[:length]).refused == [(0, told.reason)]
    assert decoded(GOOD, GOOD[:length], GOOD * 2).refused == [(1, told.reason), (2, Reason.TRAILING_BYTES)]


def test_thousands_of_schema_ids_are_told_apart() -> None:
    ids = [*range(100, 2_100), 7]
    packed = Packed([b"\0" + schema_id.to_bytes(4, "big") + GOOD[5:] for schema_id in ids])
    assert packed.schema_ids == set(ids)
    found = BlockDecoder(Layout(COLUMNS)).decode(packed, {**dict.fromkeys(ids), 7: NOW})
    assert found.refused == [(at, Reason.UNKNOWN_SCHEMA) for at in range(2_000)]
    assert found.kept.tolist() == [2_000]


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


def test_a_record_that_reaches_into_its_neighbour_is_refused_alone() -> None:
    swallowing = NOW.header + b"\x14ab"  # says ten bytes of text, has two
    making_up = NOW.header + bytes(6) + NOW.header + b"\x02c\x00\x00\x00"
    found = decoded(GOOD, GOOD, swallowing, making_up)
    assert found.refused == [(2, Reason.UNDECODABLE), (3, Reason.TRAILING_BYTES)]
    assert found.frame.to_dicts() == [ROW, ROW]


def test_a_byte_moved_between_neighbours_damages_both_and_no_other() -> None:
    found = decoded(GOOD, GOOD[:-1], GOOD[:5] + b"x" + GOOD[5:], GOOD)
    assert [index for index, _ in found.refused] == [1, 2]
    assert found.frame.to_dicts() == [ROW, ROW]


def test_only_the_columns_wanted_are_kept_and_the_bounds_of_all_are_minded() -> None:
    columns = (Column("id", Kind.TEXT, False), Column("cents", Kind.INTEGER, False, low=0, high=9), COLUMNS[2])
    decoder = BlockDecoder(Layout(columns, {"shared"}))
    values = [encoded(id="a", cents=cents, shared=True) for cents in (0, 9, 10, -1, None)]
    found = decoder.decode(Packed([*values, encoded(id="x" * 65_536, cents=1)]), SCHEMAS)
    assert found.frame.columns == ["shared"]
    assert found.fates.tolist() == [SOUND, SOUND, 1, 1, 1, 0]


def test_of_several_columns_out_of_bounds_the_first_of_the_source_is_named() -> None:
    columns = (Column("note", Kind.TEXT, False), Column("cents", Kind.INTEGER, True, high=0))
    value = encoded(id="a", cents=3, shared=True, note=None)
    for order in (columns, columns[::-1]):
        assert BlockDecoder(Layout(order)).decode(Packed([value]), SCHEMAS).fates.tolist() == [0]


def test_records_of_a_schema_that_lacks_a_column_or_gives_it_another_type_are_refused_and_no_others() -> None:
    foreign = {
        20: WriterSchema(20, '"string"'),
        21: WriterSchema(21, record({"name": "cents", "type": "long"})),
        22: WriterSchema(22, record(ID, {"name": "cents", "type": "bytes"})),
        23: WriterSchema(23, 'syntax = "proto3";', "PROTOBUF"),
    }
    values = [encoded(id="a"), *(b"\0" + n.to_bytes(4, "big") + b"\x02a\x02" for n in foreign), encoded(id="b")]
    found = BlockDecoder(Layout(COLUMNS)).decode(Packed(values), SCHEMAS | foreign)
    assert found.refused == [(n, Reason.INCOMPATIBLE_SCHEMA) for n in (1, 2, 3, 4)]
    assert found.frame["id"].to_list() == ["a", "b"]


def test_a_schema_that_is_not_plain_is_read_one_by_one_and_a_branch_that_the_column_cannot_take_is_refused() -> None:
    odd = WriterSchema(5, record(ID, {"name": "cents", "type": ["null", "long", "string"]}, {
        "name": "tags", "type": {"type": "array", "items": "string"}}))  # fmt: skip
    rows = [{"id": "b", "cents": 4}, {"id": "c", "cents": None}, {"id": "d", "cents": "4"}]
    found = BlockDecoder(Layout(COLUMNS)).decode(
        Packed([*(encoded(odd, **row, tags=["x"]) for row in rows), GOOD]), SCHEMAS | {5: odd}
    )
    assert found.frame.select("id", "cents").rows() == [("b", 4), ("c", None), ("a", 3)]
    assert found.refused == [(2, Reason.UNDECODABLE)]


def test_text_that_was_written_as_bytes_is_read_if_it_is_one() -> None:
    schemas = {6: WriterSchema(6, record(ID, {"name": "note", "type": "bytes"}))}
    values = [encoded(schemas[6], id="a", note=note) for note in ("€".encode(), b"\xff")]
    found = BlockDecoder(Layout(COLUMNS)).decode(Packed(values), schemas)
    assert (found.frame["note"].to_list(), found.refused) == (["€"], [(1, Reason.UNDECODABLE)])


def test_schema_ids_are_those_of_headers_with_something_behind() -> None:
    assert Packed([GOOD, encoded(OLDER, id="b"), None, b"", b"\x01" + GOOD[1:], b"\x00\x00"]).schema_ids == {3, 7}
    assert Packed([NOW.header]).schema_ids == set()
    assert Packed([]).schema_ids == set()


def test_a_schema_id_of_four_full_bytes_is_read_unsigned() -> None:
    assert Packed([b"\x00\xff\xfe\xfd\xfcx"]).schema_ids == {0xFFFEFDFC}


def test_columns_joined_are_the_records_of_all_parts_with_their_texts() -> None:
    """Long texts lie in the buffers of their own part; a value of an unusual encoding has one to itself."""
    unusual = NOW.header + b"\x82\x81\x00" + b"a" * 65 + GOOD[7:]
    parts = [
        decoded(GOOD, encoded(id="long" * 10, cents=None, shared=None, note="also " * 9)),
        decoded(),
        decoded(
            encoded(id="other" * 9, cents=1, shared=False, note="b" * 13), unusual, encoded(OLDER, id="c", cents=2)
        ),
    ]
    joined = ColumnArrays.joined([part.columns for part in parts])
    assert joined.frame().to_dicts() == [row for part in parts for row in part.columns.frame().to_dicts()]
    texts = joined.frame()["id"].to_list()
    assert texts[1:4] == ["long" * 10, "other" * 9, "a" * 65]
    assert list(joined.text_bytes("id")) == [None if text is None else text.encode() for text in texts]
    for rows in ([1, 2], [2, 0, 0], [], [0]):
        some = joined.text_bytes("id", np.array(rows, np.intp))
        assert list(some) == [text and text.encode() for text in (texts[row] for row in rows)]

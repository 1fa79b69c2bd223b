"""Values in any form that bytes can have: a block reads them as the strict decoder does."""

from __future__ import annotations

import pytest

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.records import Reason
from tests.support.material.schemas.plain import (
    COLUMNS,
    GOOD,
    NOW,
    ROW,
    SCHEMAS,
    STRICT,
    decoded,
    encoded,
    record,
)


@pytest.mark.parametrize("flag", [2, 255])
def test_an_odd_flag_is_read_alike_alone_and_beside_damage(flag: int) -> None:
    """Polars and fastavro read such a byte differently; no writer makes it, damage does."""
    odd = NOW.header + b"\x02a\x00\x02" + bytes((flag,)) + b"\x00"
    assert decoded(odd).frame.to_dicts() == decoded(odd, None).frame.to_dicts() == [STRICT.decode(odd, SCHEMAS)]


@pytest.mark.parametrize(
    "cents",
    [b"\x86\x00", b"\x86\x80\x80\x80\x80\x80\x80\x80\x80\x00", b"\x80" * 9 + b"\x01"],
    ids=["two bytes for one", "ten bytes for one", "the shortest form"],
)
def test_a_number_in_any_form_is_what_the_strict_decoder_reads(cents: bytes) -> None:
    """Longer forms are legal Avro, if no writer's: the walker leaves them, and their rows are read all the same."""
    odd = NOW.header + b"\x02a\x02" + cents + b"\x00\x02\x26" + b"a longer text, kept"
    told = STRICT.decode(odd, SCHEMAS)
    found = decoded(GOOD, odd, GOOD)
    assert found.frame.to_dicts() == [ROW, told, ROW]
    assert found.kept.tolist() == [0, 1, 2]


NUMBERED = WriterSchema(8, record({"name": "cents", "type": "long"}))


@pytest.mark.parametrize(
    "written",
    [b"\x80", b"\xff" * 8, b"\xff" * 9, b"\xff" * 10, b"\xff" * 9 + b"\x02", b"\x80" * 11, b"\x80" * 9 + b"\x7e"],
)
@pytest.mark.parametrize("behind", [(), (encoded(NUMBERED, cents=1),)], ids=["last of its block", "one behind"])
def test_a_number_that_does_not_end_is_what_the_strict_decoder_says(written: bytes, behind: tuple[bytes, ...]) -> None:
    """Where eight bytes can still be read at once, and where the block ends before."""
    schemas = {NUMBERED.id: NUMBERED}
    value = NUMBERED.header + written
    told = StrictDecoder(COLUMNS[1:2]).decode(value, schemas)
    found = BlockDecoder(Layout(COLUMNS[1:2])).decode(Packed([value, *behind]), schemas)
    if isinstance(told, Unreadable):
        assert found.refused == [(0, told.reason)]
    else:
        assert (found.refused, found.frame["cents"][0]) == ([], told["cents"])


@pytest.mark.parametrize("null_first", [True, False])
@pytest.mark.parametrize("branch", [0, 1, 2, 3, 4, 5, 127, 255])
def test_any_byte_for_a_branch_is_what_the_strict_decoder_says(branch: int, null_first: bool) -> None:
    """fastavro counts branches from the end, as Python does: a rule by now, and not for the walker to know."""
    union = ["null", "long"] if null_first else ["long", "null"]
    schema = WriterSchema(8, record({"name": "cents", "type": union}))
    values = [schema.header + bytes((branch, *rest)) for rest in ((), (6,), (0,))]
    found = BlockDecoder(Layout(COLUMNS[1:2])).decode(Packed(values), {8: schema})
    told = [StrictDecoder(COLUMNS[1:2]).decode(value, {8: schema}) for value in values]
    assert found.refused == [(i, one.reason) for i, one in enumerate(told) if isinstance(one, Unreadable)]
    assert found.frame.to_dicts() == [one for one in told if not isinstance(one, Unreadable)]


@pytest.mark.parametrize("number", [0, -1, 63, 64, -(2**27), 2**48, 2**55, 2**62, 2**63 - 1, -(2**63)])
def test_numbers_of_every_length_are_read(number: int) -> None:
    assert decoded(encoded(id="b", cents=number), GOOD).frame["cents"].to_list() == [number, 3]
    assert decoded(GOOD, encoded(id="b", cents=number)).frame["cents"].to_list() == [3, number]


@pytest.mark.parametrize("text", ["", "a" * 11, "a" * 12, "a" * 13, "ä€𝄞", "ä" * 40, "x" * 70_000, "a\x00b"])
def test_texts_of_every_length_and_alphabet_are_read(text: str) -> None:
    assert decoded(encoded(id=text, note=text), GOOD).frame["id"].to_list() == [text, "a"]


@pytest.mark.parametrize(
    "text", [b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x82", b"\x80",
             b"\xe0\x9f\xbf"]
)  # fmt: skip
def test_texts_that_python_would_not_read_are_refused(text: bytes) -> None:
    value = NOW.header + bytes((2 * len(text),)) + text + b"\x00\x00\x00"
    assert isinstance(STRICT.decode(value, SCHEMAS), Unreadable)
    assert decoded(GOOD, value).refused == [(1, Reason.UNDECODABLE)]

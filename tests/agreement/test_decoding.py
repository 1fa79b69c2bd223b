"""Decoding by block gives what decoding each value on its own gives: for any rides, any damage, any neighbours."""

from __future__ import annotations

import io
import json
import random

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.codecs.avro.walk import SOUND
from app.domain.source import Column, Kind, out_of_bounds
from app.rides.ride import RIDE_COLUMNS, RIDES, avro_schema
from tests.support.material.histories import POISON, SCHEMAS, START_US, encode, random_ride

DECODER = BlockDecoder(Layout(RIDE_COLUMNS))
STRICT = StrictDecoder(RIDE_COLUMNS)


def damaged(rng: random.Random, value: bytes) -> bytes:
    """One or a few bytes behind the header changed, lost or added."""
    bytes_ = bytearray(value)
    at = rng.randrange(5, len(bytes_))
    match rng.randrange(5):
        case 0:
            bytes_[at] ^= 1 << rng.randrange(8)
        case 1:
            bytes_[at] = rng.randrange(256)
        case 2:
            del bytes_[at:]
        case 3:
            bytes_[at:at] = rng.randbytes(rng.randint(1, 12))
        case 4:
            del bytes_[at : at + rng.randint(1, 12)]
    return bytes(bytes_)


def random_value(rng: random.Random, number: int, damage: float) -> bytes | None:
    value = encode(random_ride(rng, number, START_US))
    if rng.random() >= damage:
        return value
    return rng.choice(POISON) if rng.random() < 0.1 else damaged(rng, value)


@given(seed=st.integers(0, 2**32), count=st.integers(0, 40), damage=st.sampled_from((0.0, 0.03, 0.2, 1.0)))
def test_a_block_is_decoded_as_its_values_are_one_by_one(seed: int, count: int, damage: float) -> None:
    """Else a record's fate would hang on its batch, and a recomputation could not repeat it."""
    rng = random.Random(seed)
    values = [random_value(rng, number, damage) for number in range(count)]
    found = DECODER.decode(Packed(values), SCHEMAS)
    strict = [STRICT.decode(value, SCHEMAS) for value in values]
    assert found.refused == [(i, told.reason) for i, told in enumerate(strict) if isinstance(told, Unreadable)]
    good = {i: told for i, told in enumerate(strict) if not isinstance(told, Unreadable)}
    assert found.kept.tolist() == list(good)
    assert found.frame.to_dicts() == list(good.values())


@given(seed=st.integers(0, 2**32))
def test_one_damaged_value_between_two_good_ones_is_decoded_as_alone(seed: int) -> None:
    """Few neighbours, so that the block is often read to its end by mistake."""
    rng = random.Random(seed)
    for number in range(8):
        good = encode(random_ride(rng, number, START_US))
        value = damaged(rng, encode(random_ride(rng, number, START_US)))
        alone = STRICT.decode(value, SCHEMAS)
        found = DECODER.decode(Packed([good, value, good]), SCHEMAS)
        if isinstance(alone, Unreadable):
            assert found.refused == [(1, alone.reason)]
        else:
            assert found.frame.row(1, named=True) == alone


PLAIN = {
    "long": st.integers(-(2**63), 2**63 - 1),
    "int": st.integers(-(2**31), 2**31 - 1),
    "boolean": st.booleans(),
    "string": st.text(max_size=20),
    "bytes": st.binary(max_size=20),
    "float": st.just(1.5),
    "double": st.floats(allow_nan=False),
    "null": st.none(),
    "fixed": st.binary(min_size=3, max_size=3),
}
KINDS = {"long": Kind.INTEGER, "int": Kind.IDENTIFIER, "boolean": Kind.FLAG, "string": Kind.TEXT}


@st.composite
def blocks_of_a_plain_schema(draw: st.DrawFn) -> tuple[WriterSchema, tuple[Column, ...], list[bytes]]:
    """A schema, columns for some of its fields and one that it lacks, and values written with it, some damaged."""
    types = draw(st.lists(st.sampled_from(sorted(PLAIN)), min_size=1, max_size=8))
    forms = [draw(st.sampled_from(("plain", "null first", "null last"))) for _ in types]
    fields, columns = [], [Column("lacking", Kind.INTEGER, True)]
    for at, (name, form) in enumerate(zip(types, forms, strict=True)):
        avro_type = {"type": "fixed", "name": f"three_{at}", "size": 3} if name == "fixed" else name
        union = {"plain": avro_type, "null first": ["null", avro_type], "null last": [avro_type, "null"]}
        fields.append({"name": f"f{at}", "type": avro_type if name == "null" else union[form]})
        if name in KINDS and draw(st.booleans()):
            columns.append(Column(f"f{at}", KINDS[name], True))
    schema = WriterSchema(7, json.dumps({"type": "record", "name": "Drawn", "fields": fields}))
    rng, values = random.Random(draw(st.integers(0, 2**32))), []
    for _ in range(draw(st.integers(0, 12))):
        nullable = [name == "null" or form != "plain" for name, form in zip(types, forms, strict=True)]
        row = {
            f"f{at}": draw(st.none() | PLAIN[name] if null else PLAIN[name])
            for at, (name, null) in enumerate(zip(types, nullable, strict=True))
        }
        out = io.BytesIO()
        out.write(schema.header)
        fastavro.schemaless_writer(out, schema.parsed, row)
        value = out.getvalue()
        values.append(damaged(rng, value + b"\x00") if rng.random() < 0.4 else value)
    return schema, tuple(draw(st.permutations(columns))), values


@settings(max_examples=300)
@given(blocks_of_a_plain_schema())
def test_any_plain_schema_is_walked_as_it_is_decoded(
    drawn: tuple[WriterSchema, tuple[Column, ...], list[bytes]],
) -> None:
    schema, columns, values = drawn
    found = BlockDecoder(Layout(columns)).decode(Packed(values), {7: schema})
    strict = [StrictDecoder(columns).decode(value, {7: schema}) for value in values]
    assert found.refused == [(i, told.reason) for i, told in enumerate(strict) if isinstance(told, Unreadable)]
    rows = [{c.name: told.get(c.name) for c in columns} for told in strict if not isinstance(told, Unreadable)]
    assert found.frame.to_dicts() == rows


OTHER_FIELDS = [*avro_schema()["fields"][::-1][:20], {"name": "x", "type": "bytes"}]
OTHER = WriterSchema(3, json.dumps({"type": "record", "name": "Other", "fields": OTHER_FIELDS}))


@given(seed=st.integers(0, 2**32), count=st.integers(0, 40))
def test_records_of_several_schemas_are_decoded_in_one_block_as_alone(seed: int, count: int) -> None:
    rng, schemas = random.Random(seed), {**SCHEMAS, OTHER.id: OTHER}
    values: list[bytes | None] = []
    for number in range(count):
        value = random_value(rng, number, 0.1)
        if rng.random() < 0.4:
            ride = random_ride(rng, number, START_US)
            out = io.BytesIO()
            out.write(OTHER.header)
            fastavro.schemaless_writer(out, OTHER.parsed, ride | {"x": b"abc"})
            value = out.getvalue()
        values.append(value)
    found = DECODER.decode(Packed(values), schemas)
    strict = [STRICT.decode(value, schemas) for value in values]
    assert found.refused == [(i, told.reason) for i, told in enumerate(strict) if isinstance(told, Unreadable)]
    rows = [{c.name: told.get(c.name) for c in RIDE_COLUMNS} for told in strict if not isinstance(told, Unreadable)]
    assert found.frame.to_dicts() == rows


@given(seed=st.integers(0, 2**32), share=st.sampled_from((0.0, 0.3)))
def test_bounds_are_broken_where_the_domain_says_so(seed: int, share: float) -> None:
    """The first column of the record whose value its bounds refuse, as `out_of_bounds` names it."""
    rng = random.Random(seed)
    rides = [random_ride(rng, number, START_US) for number in range(12)]
    for ride in rides:
        for column in RIDE_COLUMNS:
            if column.kind not in (Kind.TEXT, Kind.FLAG) and rng.random() < share:
                edges = [n for n in (column.low, column.high) if n is not None]
                ride[column.name] = rng.choice([*edges, edges[0] - 1, edges[-1] + 1])
            if column.kind is Kind.TEXT and rng.random() < share / 3:
                ride[column.name] = "é" * rng.choice((32_767, 32_768))
    told = [out_of_bounds(RIDES, ride) for ride in rides]
    fates = DECODER.decode(Packed([encode(ride) for ride in rides]), SCHEMAS).fates
    assert [None if fate == SOUND else RIDE_COLUMNS[fate].name for fate in fates.tolist()] == told


@given(st.lists(st.binary(max_size=6) | st.text(max_size=12).map(str.encode), max_size=6))
def test_a_text_is_one_exactly_if_python_reads_it(pieces: list[bytes]) -> None:
    text = b"".join(pieces)
    try:
        expected = [text.decode()]
    except UnicodeDecodeError:
        expected = []
    schema = WriterSchema(7, json.dumps({"type": "record", "name": "T", "fields": [{"name": "t", "type": "string"}]}))
    out = io.BytesIO()
    out.write(schema.header)
    fastavro.schemaless_writer(out, {"type": "bytes"}, text)  # written as a string is
    value = out.getvalue()
    found = BlockDecoder(Layout((Column("t", Kind.TEXT, False),))).decode(Packed([value]), {7: schema})
    assert found.frame["t"].to_list() == expected

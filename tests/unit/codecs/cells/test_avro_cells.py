"""Columns as Avro cells, one behind the other, are the records that fastavro writes."""

from __future__ import annotations

import io

import fastavro
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.cells.to_avro import flag_cells, number_cells, text_cells
from app.codecs.weaving import woven

LONGS = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, -1, 63, 64, -64, -65, 2**63 - 1, -(2**63)])
TEXTS = st.text(max_size=20) | st.integers(60, 9_000).map(lambda length: "x" * length)
FLAGS = st.booleans()
SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "All",
        "fields": [
            {"name": f"{'maybe_' if null else ''}{kind}", "type": ["null", kind] if null else kind}
            for null in (True, False)
            for kind in ("long", "string", "boolean")
        ],
    }
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "maybe_long": st.none() | LONGS,
            "maybe_string": st.none() | TEXTS,
            "maybe_boolean": st.none() | FLAGS,
            "long": LONGS,
            "string": TEXTS,
            "boolean": FLAGS,
        }
    ),
    max_size=10,
)


@given(RECORDS)
def test_they_are_what_fastavro_writes(records: list[dict[str, int | str | bool | None]]) -> None:
    cells = []
    for null in (True, False):
        for kind, write in (("long", number_cells), ("string", None), ("boolean", flag_cells)):
            values = [record[f"{'maybe_' if null else ''}{kind}"] for record in records]
            if write is None:
                texts = Blobs.of(None if value is None else str(value).encode() for value in values)
                cells.append(text_cells(texts, nullable=null))
                continue
            numbers = np.array([int(value or 0) for value in values], np.int64)
            there = np.array([value is not None for value in values], np.bool_)
            cells.append(write(numbers, there, nullable=null))
    written = []
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, SCHEMA, record)
        written.append(out.getvalue())
    assert list(woven(cells)) == written


def test_a_null_where_none_may_be_is_refused_in_words() -> None:
    numbers, there = np.array([1, 2]), np.array([True, False])
    for write in (number_cells, flag_cells):
        with pytest.raises(ValueError, match="value 1 is null, and its field may not be"):
            write(numbers, there, nullable=False)
    with pytest.raises(ValueError, match="value 1 is null"):
        text_cells(Blobs.of([b"a", None]), nullable=False)

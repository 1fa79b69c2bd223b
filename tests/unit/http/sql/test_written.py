"""Values of statements in JSON and Arrow: what a format has no form for is refused, wherever in a value it stands."""

from __future__ import annotations

from typing import Any

import orjson
import pyarrow as pa
import pytest

from app.edge.sql.database import Database
from app.edge.sql.written import Unwritable, as_arrow, as_json

LAST, END = "TIME '23:59:59.999999'", "TIME '24:00:00'"
META: dict[str, Any] = {"rows": 1, "cut": False}
NESTED = ["[1.5, {0}]", "{{'b': [{{'c': {0}}}]}}", "MAP {{'k': {0}}}", "MAP {{{0}: 1}}", "[1, {0}]::DOUBLE[2]"]


def answered(sql: str, most_rows: int = 10) -> pa.Table:
    return Database(memory_mb=64).answer(sql, most_rows, most_bytes=1_000_000).rows


def in_json(sql: str, most_rows: int = 10) -> list[list[Any]]:
    data: list[list[Any]] = orjson.loads(as_json(answered(sql, most_rows), META))["data"]
    return data


@pytest.mark.parametrize("nested", ["{0}", *NESTED, "union_value(b := {0})", "[NULL, [[{0}]]]"])
@pytest.mark.parametrize("number", ["'NaN'::DOUBLE", "'-infinity'::FLOAT"])
def test_what_is_no_number_to_json_is_refused_at_any_depth(nested: str, number: str) -> None:
    with pytest.raises(Unwritable, match=r"^column 'a' holds what is no number to JSON; cast it to VARCHAR$"):
        in_json(f"SELECT {nested.format(number)} AS a")


@pytest.mark.parametrize("nested", NESTED)
def test_rows_that_are_cut_and_values_that_are_absent_are_not_looked_at(nested: str) -> None:
    kept, bad = nested.format("1.5::DOUBLE"), nested.format("'NaN'::DOUBLE")
    alone = in_json(f"SELECT {kept} AS a")
    assert in_json(f"FROM (VALUES ({kept}), (NULL), ({bad})) t(a)", most_rows=2) == [*alone, [None]]
    assert in_json(f"FROM (VALUES ({bad}), ({kept})) t(a) WHERE a::VARCHAR NOT LIKE '%nan%'") == alone


def test_a_stream_of_arrow_keeps_what_is_no_number() -> None:
    with pa.ipc.open_stream(as_arrow(answered("SELECT ['infinity'::DOUBLE, 'NaN'] AS a"), META)) as stream:
        assert str(stream.read_all().to_pylist()) == "[{'a': [inf, nan]}]"


@pytest.mark.parametrize("written", [as_json, as_arrow])
@pytest.mark.parametrize("value", ["{0}", "[{0}]", "{{'b': {0}}}", "MAP {{'k': {0}}}"])
def test_the_end_of_a_day_is_not_told_as_its_beginning(written: Any, value: str) -> None:
    assert written(answered(f"SELECT {value.format(LAST)} AS a"), META)
    with pytest.raises(Unwritable, match=r"^column 'a' holds 24:00:00, which is no time of a day .*; cast it"):
        written(answered(f"SELECT {value.format(END)} AS a"), META)

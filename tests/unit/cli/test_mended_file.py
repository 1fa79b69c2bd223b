"""A file of records that were mended by hand: what no record can say is told, with its place and column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.edge.late.mending import NotMended, read_mended
from app.rides.ride import RIDES

BY_TOPIC = {topic.name: RIDES for topic in RIDES.topics}


@pytest.mark.parametrize(
    ("fare_cents", "told"),
    [
        (3.5, "'fare_cents' is integer, 3.5 is a number with a fraction"),
        ("7", "'fare_cents' is integer, '7' is text"),
        (True, "'fare_cents' is integer, True is true or false"),
        (10**30, "'fare_cents' is integer, 1e+30 is not written as a whole number of 64 bits"),
        (7.0, "'fare_cents' is integer, 7 is not written as a whole number of 64 bits"),
    ],
)
def test_a_value_of_another_kind_is_told_as_what_it_is(tmp_path: Path, fare_cents: Any, told: str) -> None:
    file = tmp_path / "mended.json"
    record = {"topic": "rides.yellow", "partition": 0, "offset": 7, "values": {"fare_cents": fare_cents}}
    file.write_text(json.dumps([record]), "utf-8")
    with pytest.raises(NotMended) as refused:
        read_mended(file, BY_TOPIC)
    assert f"rides.yellow-0 at 7: column {told}" in str(refused.value)

"""What headers of records that were set aside tell, whoever wrote them."""

from __future__ import annotations

import pytest

from app.codecs.batches.origin_headers import OFFSET, PARTITION, REASON, TOPIC, refused_then
from app.domain.records import Place, Reason

REFUSED = {
    TOPIC: b"rides.yellow",
    PARTITION: b"1",
    OFFSET: b"7",
    REASON: Reason.UNKNOWN_SCHEMA.value.encode(),
}


def test_a_record_tells_where_it_stood_and_why_it_was_refused_then() -> None:
    assert refused_then(REFUSED.items()) == (Place("rides.yellow", 1, 7), "unknown_schema")


@pytest.mark.parametrize("lacking", REFUSED)
def test_a_record_that_lacks_one_of_our_headers_tells_nothing(lacking: str) -> None:
    assert refused_then((name, value) for name, value in REFUSED.items() if name != lacking) is None


@pytest.mark.parametrize("number", [b"", b"one", b"1.5", b"\xff", b"9" * 5000])
@pytest.mark.parametrize("name", [PARTITION, OFFSET])
def test_a_record_whose_place_is_no_number_tells_nothing(name: str, number: bytes) -> None:
    assert refused_then((REFUSED | {name: number}).items()) is None

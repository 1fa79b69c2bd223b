"""What became of requests is remembered by their keys, in little room, and for so long."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.edge.intake.memory import OVERHEAD_BYTES, Memory, MemoryFull
from app.edge.intake.wanted import Reply, WrittenAt, read_reply

PLACE = st.builds(WrittenAt, st.integers(0, 99), st.integers(0, 1 << 62))
DAY_MS = 86_400_000


@given(st.text(max_size=8), st.lists(PLACE | st.text(max_size=3), max_size=20))
def test_what_was_told_is_told_again(digest: str, outcomes: list[WrittenAt | str]) -> None:
    reply, memory = Reply(digest, outcomes), Memory(DAY_MS, 1_000)
    memory.keep("k", reply.as_json(), 0)
    assert memory.find("k") == reply == read_reply(reply.as_json())
    assert memory.find("another") is None


def test_reasons_that_stand_in_their_records_places_are_read_too() -> None:
    """As `<app>.received` holds them from before each reason was told once."""
    former = orjson.dumps({"digest": "d", "outcomes": [[1, 2], "no such field", [0, 3]]})
    assert read_reply(former) == Reply("d", [WrittenAt(1, 2), "no such field", WrittenAt(0, 3)])


def test_ten_thousand_records_take_a_third_of_their_text() -> None:
    memory, reply = Memory(DAY_MS, 1), Reply("d", [WrittenAt(n % 4, 10**9 + n) for n in range(10_000)])
    memory.keep("k", reply.as_json(), 0)
    with pytest.raises(MemoryFull) as full:
        memory.require_room(1)
    held = int(str(full.value).split(" in ")[1].split()[0].replace(",", ""))
    assert held - OVERHEAD_BYTES < len(reply.as_json()) / 3


def test_a_full_memory_says_when_its_first_key_will_be_forgotten() -> None:
    memory = Memory(10_000, 2 * OVERHEAD_BYTES)
    memory.keep("a", Reply("d", []).as_json(), 1_000)
    memory.require_room(2_000)
    memory.keep("b", Reply("d", []).as_json(), 5_000)
    with pytest.raises(MemoryFull, match="2 keys are remembered") as full:
        memory.require_room(8_500)
    assert full.value.wait_seconds == 3  # until 11,000, in whole seconds
    memory.require_room(11_000)
    assert (memory.find("a"), memory.find("b")) == (None, Reply("d", []))

"""What a drill expects of the topics, from what the brokers confirmed."""

from __future__ import annotations

from app.domain.records import Place
from tests.drills.world.confirmed import confirmed_records
from tests.drills.world.load import Acked, Unplaced

A, B, C = (Acked(b"1", value, 0) for value in (b"a", b"b", b"c"))


def at(offset: int) -> Place:
    return Place("rides", 0, offset)


def test_a_record_confirmed_without_an_offset_stands_where_the_log_has_it() -> None:
    log = {at(0): A, at(1): B}
    assert confirmed_records({at(0): A}, [Unplaced("rides", 0, B)], log, forgets=False) == log


def test_a_record_confirmed_without_an_offset_and_not_in_the_log_is_missed() -> None:
    log = {at(0): A}
    expected = confirmed_records({at(0): A}, [Unplaced("rides", 0, B)], log, forgets=True)
    assert expected == {at(0): A, at(-1): B}


def test_equal_records_confirmed_without_offsets_are_each_sought() -> None:
    log = {at(0): A, at(1): B, at(2): B}
    twice = [Unplaced("rides", 0, B)] * 2
    assert confirmed_records({at(0): A}, twice, log, forgets=False) == log
    assert at(-1) in confirmed_records({at(0): A}, [*twice, twice[0]], log, forgets=False)


def test_a_second_copy_counts_only_where_the_broker_may_have_forgotten_its_producer() -> None:
    log = {at(0): A, at(1): A}
    assert confirmed_records({at(0): A}, [], log, forgets=True) == log
    assert confirmed_records({at(0): A}, [], log, forgets=False) == {at(0): A}


def test_a_record_that_nobody_confirmed_is_not_expected() -> None:
    assert confirmed_records({at(0): A}, [], {at(0): A, at(1): C}, forgets=True) == {at(0): A}

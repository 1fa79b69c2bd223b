"""What joins remember is what a dictionary of halves would hold, whatever comes, waits no more, goes and is packed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored.halves import SIDE_SHIFT, Halves, decode_halves, half_keys, settled_values, waiting_values
from app.domain.errors import LayoutError
from app.engine.core.rows import halves as of_halves
from app.engine.core.rows.halves import NONE, SETTLED, WAITING, HeldHalves, NewHalves
from app.engine.core.rows.stored_halves import HalfTaker
from tests.support.material.pairing.calls import LONG

IDS = ("a", "b", 'odd "\\', "a name of more than twelve letters")


class One(NamedTuple):
    """A half as a dictionary has it."""

    id: str
    at_us: int
    waits: bool

    @property
    def value(self) -> bytes:
        return (_waiting([self]) if self.waits else _settled([self]))[0] or b""


def _waiting(halves: list[One]) -> Blobs:
    count = len(halves)
    columns, nulls, headers = (Blobs.of([value] * count) for value in (b'{"place":7}', None, b"[]"))
    at_us, ids = np.array([one.at_us for one in halves], np.int64), Blobs.of(orjson.dumps(one.id) for one in halves)
    return waiting_values(Halves(np.ones(count, np.bool_), at_us, ids, at_us, columns, nulls, nulls, headers))


def _settled(halves: list[One]) -> Blobs:
    at_us = np.array([one.at_us for one in halves], np.int64)
    return settled_values(at_us, Blobs.of(orjson.dumps(one.id) for one in halves))


def new_halves(halves: dict[int, One]) -> NewHalves:
    values = Blobs.of(one.value for one in halves.values())
    read = decode_halves(values)
    return NewHalves(np.array([*halves], np.int64), read.waits, read.at_us, read.ids, values)


class Both:
    """The same halves in columns and in a dictionary, by place."""

    def __init__(self, draws: random.Random) -> None:
        self.draws, self.held, self.wanted = draws, HeldHalves(), dict[int, One]()
        self.offset = 0

    def slots(self, places: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        of = dict(zip(self.held.places_at(self.held.slots()).tolist(), self.held.slots().tolist(), strict=True))
        return np.array([of[place] for place in places], np.int64)

    def step(self) -> None:
        come = {}
        for _ in range(self.draws.randrange(6)):
            place = self.offset | self.draws.randrange(2) << SIDE_SHIFT
            come[place] = One(self.draws.choice(IDS), self.draws.randrange(50), self.draws.random() < 0.7)
            self.offset += 1
        places = self.draws.sample(sorted(self.wanted), min(len(self.wanted), self.draws.randrange(6)))
        settle = [place for place in places[::2] if self.wanted[place].waits]
        self.held.settle(self.slots(settle))
        self.held.remove(self.slots(places[1::2]))
        self.held.add(new_halves(come))
        self.wanted |= {place: self.wanted[place]._replace(waits=False) for place in settle} | come
        for place in places[1::2]:
            del self.wanted[place]
        if self.draws.random() < 0.2:
            self.held = self.held.packed()

    def check(self) -> None:
        assert self.held.stored() == {place: one.value for place, one in self.wanted.items()}
        assert len(self.held) == len(self.wanted)
        newest = self.held.newest_of(Blobs.of(map(orjson.dumps, IDS))).tolist()
        for name, slot in zip(IDS, newest, strict=True):
            assert sorted(self.chain(slot)) == sorted(place for place, one in self.wanted.items() if one.id == name)
        until_us, side = self.draws.randrange(50), self.draws.choice((None, 0, 1))
        early = [(one.at_us, place) for place, one in self.wanted.items() if one.at_us <= until_us]
        mine = [place for _, place in sorted(early) if side is None or place >> SIDE_SHIFT == side]
        for state, waits in ((WAITING, True), (SETTLED, False)):
            found = self.held.places_at(self.held.until(until_us, state, side)).tolist()
            assert found == [place for place in mine if self.wanted[place].waits is waits]

    def chain(self, slot: int) -> Iterator[int]:
        """Places of the halves of one id, from its newest on."""
        _, at_us, places, older = self.held.columns()
        while slot != NONE:
            assert at_us[slot] == self.wanted[int(places[slot])].at_us
            yield int(places[slot])
            slot = int(older[slot])


@given(st.integers(0, 2**32))
def test_they_are_what_a_dictionary_would_hold(seed: int) -> None:
    both = Both(random.Random(seed))
    for _ in range(12):
        both.step()
        both.check()


@given(st.integers(0, 2**32))
def test_of_a_log_the_last_record_of_each_place_counts(seed: int) -> None:
    draws = random.Random(seed)
    halves, wanted = {LONG.name: HeldHalves()}, dict[int, One]()
    taker = HalfTaker(LONG, halves)
    for _ in range(6):
        records = list[tuple[int, One | None]]()
        for _ in range(draws.randrange(8)):
            place = draws.randrange(6) | draws.randrange(2) << SIDE_SHIFT
            waits = not place >> SIDE_SHIFT and draws.random() < 0.6
            records.append((place, draws.choice((None, One(draws.choice(IDS), draws.randrange(50), waits)))))
        keys = half_keys(LONG, np.array([place for place, _ in records], np.int64))
        taker(keys, Blobs.of(None if one is None else one.value for _, one in records), np.arange(len(records)))
        for place, one in records:
            wanted.pop(place, None)
            wanted |= {} if one is None else {place: one}
        assert halves[LONG.name].stored() == {place: one.value for place, one in wanted.items()}


def test_a_log_that_says_more_than_the_alert_carries_is_refused() -> None:
    value = One("a", 5, waits=True).value.replace(b'{"place":7}', b'{"plice":7}')
    with pytest.raises(LayoutError, match="is not what this version writes of place"):
        HalfTaker(LONG, {LONG.name: HeldHalves()})(half_keys(LONG, np.array([1])), Blobs.of([value]), np.arange(1))


def test_what_is_gone_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_halves, "_LEAST_GONE", 10)
    halves = {LONG.name: HeldHalves()}
    taker = HalfTaker(LONG, halves)
    few = {place: One(f"call {place}", place, waits=True) for place in range(5)}
    for start in range(0, 2_000, 100):
        many = {place: One(f"call {place}", place, waits=True) for place in range(start, start + 100)}
        new = new_halves(many)
        taker(half_keys(LONG, new.places), new.values, new.places)
        gone = new.places[new.places >= len(few)]
        taker(half_keys(LONG, gone), Blobs.nulls(len(gone)), gone)
    assert halves[LONG.name].stored() == {place: one.value for place, one in few.items()}
    assert len(halves[LONG.name].columns().state) <= 200

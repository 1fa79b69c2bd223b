"""What fails is narrowed to the values at which it fails, in few attempts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.narrowing import failing


class Attempts:
    """Fails at some numbers; how many values it was given each time."""

    def __init__(self, bad: set[int]) -> None:
        self._bad, self.given = bad, list[int]()

    def __call__(self, numbers: Sequence[int]) -> None:
        self.given.append(len(numbers))
        if bad := self._bad & {*numbers}:
            raise ValueError(min(bad))


@given(st.integers(0, 200), st.sets(st.integers(0, 199), max_size=20))
def test_every_value_at_which_it_fails_is_found_and_no_other(count: int, bad: set[int]) -> None:
    attempts = Attempts(bad)
    found = failing(attempts, range(count))
    inside = {number for number in bad if number < count}
    assert found.keys() == inside
    assert all(error.args == (at,) for at, error in found.items())
    assert len(attempts.given) <= 2 * max(1, len(inside)) * (count.bit_length() + 1)
    assert sum(attempts.given) <= (count + 1) * 2 * (count.bit_length() + 1)


def test_one_among_twenty_thousand_costs_thirty_attempts_at_twice_as_many_values() -> None:
    attempts = Attempts({12_345})
    assert failing(attempts, range(20_000)).keys() == {12_345}
    assert len(attempts.given) <= 31
    assert sum(attempts.given) <= 61_000


def test_what_fails_only_together_is_no_values_fault() -> None:
    def together(numbers: Sequence[int]) -> None:
        if len(numbers) > 1:
            raise ValueError

    assert failing(together, range(5)) == {}


def test_a_lack_of_memory_is_raised() -> None:
    def exhausted(_: object) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        failing(exhausted, range(5))

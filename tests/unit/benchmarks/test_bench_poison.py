"""The benchmark of unusable records: every kind of them is refused, and nothing else."""

from __future__ import annotations

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.strict import StrictDecoder
from app.rides.ride import RIDES
from benchmarks.poison import IN_BYTES, IN_VALUES, SCHEMAS, SHARES, measure, poisoned

ONE_BY_ONE = {"another writer's schema", "forged length", "junk"}
"""Kinds of damage that the strict decoder may have to look at."""


def test_every_kind_is_refused_and_nothing_else() -> None:
    """Else `measure` ends in words."""
    assert round(0.2 * 300) >= 2 * (len(IN_BYTES) + len(IN_VALUES) + 1)
    assert measure(300, 300, 1).keys() == SHARES.keys()


def test_the_same_rides_are_poisoned_in_the_same_way_each_time() -> None:
    first, second = (list(poisoned(200, 100, 0.2)) for _ in range(2))
    assert [list(batch.values) for batch, _ in first] == [list(batch.values) for batch, _ in second]
    assert [count for _, count in first] == [20, 20]


def test_what_can_be_told_at_once_is_not_looked_at_one_by_one() -> None:
    decoder, looked_at = BlockDecoder(Layout(RIDES.columns)), list[bytes | None]()
    strict = StrictDecoder(RIDES.columns)

    class Counted:
        can_read = strict.can_read

        def decode(self, value: bytes | None, schemas: object) -> object:
            looked_at.append(value)
            return strict.decode(value, SCHEMAS)

    decoder._strict = Counted()  # type: ignore[assignment]
    ((clean, _),) = poisoned(50, 50, 0.0)
    values = list(clean.values)
    damaged = {kind: IN_BYTES[kind](values[at] or b"") for at, kind in enumerate(IN_BYTES)}
    found = decoder.decode(Packed([*values, *damaged.values()]), SCHEMAS)
    assert [at for at, _ in found.refused] == list(range(50, 50 + len(damaged)))
    assert set(looked_at) <= {damaged[kind] for kind in ONE_BY_ONE}

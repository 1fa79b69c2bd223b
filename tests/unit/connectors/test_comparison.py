"""A table of finals is compared with their topic: each way in which it can differ is told as what it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from app.edge.connectors.comparison import TableFound, compare

KEY = ("version", "zone", "revision")
SCHEMA: dict[str, pl.DataType] = {
    "version": pl.String(),
    "zone": pl.Int64(),
    "revision": pl.Int64(),
    "rides": pl.Int64(),
    "minutes": pl.List(pl.Int64()),
    "final_partition": pl.Int64(),
    "final_offset": pl.Int64(),
    "published_at": pl.Datetime("us"),
}
BEGUN = datetime(2026, 1, 6)


def final(offset: int, zone: int | None, rides: int = 1, *, revision: int = 0, partition: int = 0) -> tuple[Any, ...]:
    return ("v1", zone, revision, rides, [rides, 0], partition, offset, BEGUN)


PUBLISHED = [final(0, 132), final(1, None), final(2, 7), final(5, 132, 2, revision=1), final(0, 9, partition=1)]


PAST_ALL = {0: 6, 1: 1}
"""Where the connector goes on that has come to the end of PUBLISHED."""


def compared(
    held: list[tuple[Any, ...]],
    published: list[tuple[Any, ...]] = PUBLISHED,
    start: int = 0,
    reached: Mapping[int, int] = PAST_ALL,
) -> TableFound:
    return compare(
        pl.DataFrame(published, schema=SCHEMA, orient="row"),
        pl.DataFrame(held, schema=SCHEMA, orient="row"),
        KEY,
        {0: start, 1: 0},
        reached,
    )


def told(found: TableFound) -> tuple[int, list[Any], list[Any], list[Any], int, int]:
    """Equal, then the zones of what is missing, altered and foreign, what is to come and what is forgotten."""
    zones = (frame["zone"].to_list() for frame in (found.missing, found.altered, found.foreign))
    missing, altered, foreign = zones
    return found.equal, missing, altered, foreign, found.to_come, found.forgotten


def test_what_was_published_is_what_is_there_in_whatever_order() -> None:
    found = compared(PUBLISHED[::-1])
    assert (told(found), found.is_right) == ((5, [], [], [], 0, 0), True)


def test_a_final_of_no_group_is_one_row_and_missed_like_any_other() -> None:
    assert told(compared([one for one in PUBLISHED if one[1] is not None])) == (4, [None], [], [], 0, 0)


def test_what_the_connector_has_not_come_to_is_still_to_come() -> None:
    found = compared(PUBLISHED[:2], reached={0: 2})
    assert (told(found), found.is_right) == ((2, [], [], [], 3, 0), True)
    assert told(compared([], reached={})) == (0, [], [], [], 5, 0)


def test_what_the_connector_is_past_is_missing_at_the_newest_end_and_of_an_emptied_table_too() -> None:
    assert told(compared(PUBLISHED[:3])) == (3, [132, 9], [], [], 0, 0)
    assert told(compared([], reached={0: 3})) == (0, [132, None, 7], [], [], 2, 0)


def test_rows_above_what_the_connector_has_committed_are_compared_like_others() -> None:
    other = final(2, 7, 77)
    assert told(compared(PUBLISHED, reached={0: 1})) == (5, [], [], [], 0, 0)
    assert told(compared([*PUBLISHED[:2], other], reached={0: 1})) == (2, [], [7], [], 2, 0)


@pytest.mark.parametrize("reached", [PAST_ALL, {}])
def test_a_newest_row_of_which_values_and_place_are_changed_is_found(reached: Mapping[int, int]) -> None:
    assert told(compared([*PUBLISHED[:4], final(77, 9, 2, partition=1)], reached=reached)) == (4, [], [9], [], 0, 0)
    assert told(compared([*PUBLISHED[:3], final(1, 132, 3, revision=1), PUBLISHED[4]], reached=reached)) == (
        (4, [], [132], [], 0, 0)
    )


@pytest.mark.parametrize("at", range(3, 5))
def test_a_row_with_another_value_is_told_with_what_was_published(at: int) -> None:
    other = list(PUBLISHED[0])
    other[at] = 77 if at == 3 else [0, 1]
    found = compared([tuple(other), *PUBLISHED[1:]])
    assert told(found) == (4, [], [132], [], 0, 0)
    assert found.altered[["rides", "minutes"][at - 3]].to_list() == [other[at]]
    assert found.altered[["rides_published", "minutes_published"][at - 3]].to_list() == [PUBLISHED[0][at]]


def test_a_row_that_was_never_published_is_told() -> None:
    assert told(compared([*PUBLISHED, final(4, 55)])) == (5, [], [], [55], 0, 0)


def test_rows_of_finals_that_the_topic_has_deleted_are_counted_apart() -> None:
    assert told(compared(PUBLISHED, PUBLISHED[2:], start=2)) == (3, [], [], [], 0, 2)


def test_of_a_final_that_stands_there_again_the_later_counts() -> None:
    again = final(8, 132)
    assert told(compared([again, *PUBLISHED[1:]], [*PUBLISHED, again])) == (5, [], [], [], 0, 0)
    assert told(compared(PUBLISHED, [*PUBLISHED, again])) == (4, [], [], [], 1, 0)
    assert told(compared(PUBLISHED, [*PUBLISHED, again], reached={0: 9})) == (4, [], [132], [], 0, 0)
    changed = [final(0, 132, 4), *PUBLISHED[1:]]
    assert told(compared(changed, [*PUBLISHED, again])) == (4, [], [132], [], 0, 0)


def test_an_empty_topic_and_an_empty_table_are_equal() -> None:
    found = compared([], [])
    assert (told(found), found.is_right) == ((0, [], [], [], 0, 0), True)

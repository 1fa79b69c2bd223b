"""A view's definition: what is refused, and when it is another version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.domain.column import Equals
from app.domain.errors import DefinitionError
from app.domain.measures.kinds import SUM_BOUND, Count, First, Histogram, Max, Min, Sum
from app.domain.source import Action, Coalesce, Column, Difference, Rule, Source, SourceTopic
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from tests.support.material.trip_view import VIEW
from tests.support.material.trips import AT, LENGTH, TRIPS

TOTAL = replace(VIEW, window=AllTime())


def refusal(**changed: object) -> str:
    """What is said of the view with these parts changed."""
    with pytest.raises(DefinitionError) as refused:
        replace(VIEW, **changed)
    (problem,) = refused.value.problems
    return problem


def with_columns(change: Callable[[Column], Column]) -> Source:
    return replace(TRIPS, columns=tuple(change(column) for column in TRIPS.columns))


def derived(*columns: Coalesce | Difference) -> Source:
    return replace(TRIPS, derived=columns)


def ruled(when: str) -> Source:
    return replace(TRIPS, rules=(Rule("odd", Action.MARK, when, "other words"), *TRIPS.rules[1:]))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"number": 0}, "number 0 is not in 1..65535"),
        ({"number": 65_536}, "number 65536 is not in 1..65535"),
        ({"grace_seconds": -1}, "may not be negative"),
        ({"retention_seconds": -1}, "may not be negative"),
        ({"groups": (Group("place", "nowhere"),)}, "group 'place': no column 'nowhere' in source 'trips'"),
        ({"window": Tumbling("begun_us", 0)}, "window of 0 seconds"),
        ({"window": Tumbling("begun_us", -300)}, "window of -300 seconds"),
        ({"window": Tumbling("never_us", 300)}, "window column 'never_us' is not in source 'trips'"),
        ({"window": Tumbling("cents", 300)}, "window column 'cents' is integer, not an instant"),
        ({"measures": (Sum("fares", "nothing"),)}, "measure 'fares': no column 'nothing' in source 'trips'"),
        ({"measures": (Max("last", "id"),)}, "column 'id' is text, measures are over integers"),
        ({"measures": (First("one", "shared"),)}, "column 'shared' is flag, measures are over integers"),
        ({"measures": (Sum("sum", "unbounded"),)}, r"'unbounded' needs bounds within 2**30, has none to none"),
        ({"measures": (Sum("sum", "too_wide"),)}, r"'too_wide' needs bounds within 2**30"),
        ({"measures": (Sum("sum", "zone"),)}, "a sum over identifier 'zone' means nothing"),
        ({"measures": (Histogram("bins", "cents", ()),)}, "histogram edges must be given in rising order"),
        ({"measures": (Histogram("bins", "cents", (5, 1)),)}, "histogram edges must be given in rising order"),
        ({"measures": (Histogram("bins", "cents", (1, 1)),)}, "histogram edges must be given in rising order"),
        ({"leaves_out": ("od",)}, "leaves_out 'od': no rule of source 'trips'; did you mean 'odd'?"),
        ({"leaves_out": ("full",)}, "leaves_out 'full': its action is 'count', only what a rule marks can be left out"),
    ],
)
def test_a_definition_that_means_nothing_is_refused_and_the_mistake_named(
    changed: dict[str, object], problem: str
) -> None:
    assert problem in refusal(**changed)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"measures": (Count("place"),)}, "place"),
        ({"measures": (Count("n"), Max("n", "people"))}, "n"),
        ({"measures": (Max("a", "cents"), Max("a_values", "people"))}, "a_values"),
        ({"measures": (Max("a", "cents"), Count("a_values"))}, "a_values"),
        ({"measures": (Max("count", "people"),)}, "count"),
        ({"measures": (Histogram("a", "people", (1,)), Min("a_0", "people"))}, "a_0"),
        ({"measures": (First("a", "people"), Max("a_origin", "people"))}, "a_origin"),
        ({"groups": (Group("fares_values", "zone"),)}, "fares_values"),
        ({"groups": (Group("place", "zone"), Group("place", "people"))}, "place"),
    ],
)
def test_names_that_would_hide_one_another_where_rows_are_shown_or_stored_are_refused(
    changed: dict[str, object], name: str
) -> None:
    """Cells, groups and measures stand side by side in exports and answers."""
    assert refusal(**changed) == f"the name {name!r} is used twice"


@pytest.mark.parametrize("name", ["count", "window_start_us", "Revision", "is_closed", "fingerprint", "measures"])
def test_a_group_may_not_be_called_as_what_rows_finals_and_tables_have_beside_it(name: str) -> None:
    assert refusal(groups=(Group(name, "zone"),)) == (
        f"the name {name!r} is that of something else in rows, finals or tables: choose another one"
    )


@pytest.mark.parametrize("name", ["revision", "positions", "window_start", "rank"])
def test_nor_may_a_measure(name: str) -> None:
    assert refusal(measures=(Count(name),)) == (
        f"the name {name!r} is that of something else in rows, finals or tables: choose another one"
    )


@pytest.mark.parametrize("name", ["", "a b", "1st", "x; drop", "line\nfeed", "n" * 101])
def test_names_of_measures_and_groups_are_letters_digits_and_underscores(name: str) -> None:
    assert "letters, digits and '_', no digit first" in refusal(measures=(Count(name),))
    assert "letters, digits and '_', no digit first" in refusal(groups=(Group(name, "zone"),))


def test_a_count_may_be_called_count_for_it_is_the_row_s_own() -> None:
    assert replace(VIEW, measures=(Count("count"),)).cells == ("count", "fingerprint")


def test_a_sum_over_an_instant_is_refused_for_what_it_is_not_for_its_bounds() -> None:
    with pytest.raises(DefinitionError) as refused:
        replace(VIEW, measures=(Sum("sum", "begun_us"),))
    (problem,) = refused.value.problems
    assert "a sum over instant 'begun_us' means nothing" in problem


def test_all_mistakes_are_told_at_once_under_the_view_s_name() -> None:
    with pytest.raises(DefinitionError, match=r"(?s)view 'by_zone' is not usable:\n  - .*\n  - ") as refused:
        replace(VIEW, number=0, window=Tumbling("cents", 0))
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    "other",
    [
        replace(VIEW, name="renamed", help="other words", retention_seconds=7),
        replace(VIEW, grace_seconds=61),
        replace(VIEW, source=replace(TRIPS, skew_seconds=601)),
        replace(VIEW, measures=(Count("trips", "help"), Sum("fares", "cents", "help"))),
        replace(VIEW, source=with_columns(lambda c: replace(c, help="other words"))),
        replace(VIEW, source=replace(TRIPS, topics=(*TRIPS.topics, SourceTopic(2, "trips.b")))),
        replace(VIEW, source=derived(replace(AT, column=replace(AT.column, help="other words")), LENGTH)),
        replace(VIEW, source=derived(AT, replace(LENGTH, right="ended_us"))),
        replace(VIEW, source=ruled("cents < 1")),
    ],
    ids=["name, help, retention", "grace", "skew", "help of measures", "help of columns",
         "one more topic", "help of a derived column", "a derived column that it does not read",
         "a rule that it does not read"],
)  # fmt: skip
def test_what_cannot_change_a_row_leaves_the_version_alone(other: View) -> None:
    """A new version is rebuilt from the log: for a mended help text that would be hours of work for nothing."""
    assert other.version == VIEW.version


@pytest.mark.parametrize(
    "other",
    [
        replace(VIEW, number=2),
        replace(VIEW, groups=()),
        replace(VIEW, groups=(Group("place", "people"),)),
        replace(VIEW, groups=(Group("place", "zone"), Group("size", "people"))),
        replace(VIEW, window=Tumbling("begun_us", 600)),
        replace(VIEW, window=Tumbling("ended_us", 300)),
        TOTAL,
        replace(VIEW, measures=(Sum("fares", "cents"), Max("dearest", "cents"))),
        replace(VIEW, measures=(Sum("fares", "people"),)),
        replace(VIEW, measures=(Max("fares", "cents"),)),
        replace(VIEW, source=replace(TRIPS, number=8)),
        replace(VIEW, source=with_columns(lambda c: replace(c, high=SUM_BOUND - 1) if c.name == "cents" else c)),
        replace(VIEW, source=with_columns(lambda c: replace(c, nullable=False) if c.name == "cents" else c)),
        replace(VIEW, source=derived(replace(AT, columns=("begun_us", "ended_us")), LENGTH)),
        replace(VIEW, leaves_out=("odd",)),
    ],
    ids=["number", "no group", "group column", "one more group", "pane", "window column", "no window",
         "one more measure", "measured column", "kind of measure", "source", "bounds", "nullable",
         "how reported_at is made", "what it leaves out"],
)  # fmt: skip
def test_what_can_change_a_row_makes_another_version(other: View) -> None:
    assert other.version != VIEW.version


def test_how_a_column_that_it_measures_is_derived_belongs_to_the_version() -> None:
    longest = replace(VIEW, measures=(Max("longest_us", "length_us"),))
    other = derived(AT, replace(LENGTH, left="begun_us"))
    assert replace(longest, source=other).version != longest.version


def test_what_a_rule_says_that_it_reads_belongs_to_the_version_and_its_spelling_does_not() -> None:
    left_out = replace(VIEW, leaves_out=("odd",))
    counted = replace(VIEW, measures=(Sum("odd_ones", "odd"),))
    for view in (left_out, counted):
        assert replace(view, source=ruled("cents < 1")).version != view.version
        assert replace(view, source=ruled("(cents  <  0)")).version == view.version


def test_bins_belong_to_the_version() -> None:
    binned = [replace(VIEW, measures=(Histogram("bins", "cents", edges),)) for edges in ((0, 5), (0, 6))]
    assert binned[0].version != binned[1].version


def test_a_version_is_the_same_tomorrow_for_it_stands_in_stored_keys() -> None:
    assert VIEW.version == "6facb827"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"topics": (SourceTopic(1, "a"), SourceTopic(1, "b"))}, "topic numbers must be distinct"),
        ({"topics": (SourceTopic(0, "a"),)}, "1 to 127"),
        ({"topics": (SourceTopic(128, "a"),)}, "1 to 127"),
        ({"key": "none"}, "key column 'none' is not among its columns"),
        ({"id": "none"}, "id column 'none' is not among its columns"),
        ({"reported_at": "none"}, "reported_at column 'none' is not among its columns"),
        ({"reported_at": "ended_us"}, "reported_at column 'ended_us' may not be nullable"),
        ({"reported_at": "id"}, "reported_at column 'id' is text, not an instant"),
        ({"topics": ()}, "it has no topic"),
        ({"topics": (SourceTopic(1, "a topic"),)}, "topic 'a topic': letters"),
        ({"name": "a/b"}, "name 'a/b'"),
        (
            {"derived": (AT, replace(LENGTH, left="endd_us"))},
            "no column 'endd_us' to make it of; did you mean 'ended_us'",
        ),
        ({"derived": (AT, Equals(AT.column, "id", "more than twelve"))}, "'more than twelve' has more than 12 bytes"),
        ({"derived": (AT, Equals(AT.column, "cents", "5"))}, "'cents' is integer, and never '5'"),
        ({"number": 0}, r"number 0 is not in 1\.\.65535"),
        ({"record": "a trip"}, "record 'a trip' is no name of an Avro record"),
        ({"skew_seconds": -1}, "skew_seconds may not be negative"),
    ],
)
def test_a_source_that_cannot_be_kept_is_refused(changed: dict[str, object], problem: str) -> None:
    with pytest.raises(DefinitionError, match=problem):
        replace(TRIPS, **changed)

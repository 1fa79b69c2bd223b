"""`flagfall reconcile`: which windows its options name, and what is refused before anything is begun."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import click
import pytest
from click.testing import CliRunner

from app.domain.windows.scope import Scope
from app.edge.cli.batch.reconcile_scope import scope_of
from app.edge.cli.main import cli

MIDNIGHT = datetime(2024, 1, 31)
MIDNIGHT_US = 1_706_659_200_000_000
DAY_US = 86_400_000_000


def test_a_date_is_a_day_of_utc() -> None:
    scope = scope_of(MIDNIGHT, None, None, is_since=False)
    assert scope == Scope(MIDNIGHT_US, MIDNIGHT_US + DAY_US)
    assert str(scope) == "windows from 2024-01-31T00:00:00Z to 2024-02-01T00:00:00Z"


def test_either_end_may_be_open_and_instants_have_zones() -> None:
    in_new_york = MIDNIGHT.replace(tzinfo=timezone(timedelta(hours=-5)))
    assert scope_of(None, in_new_york, None, is_since=False) == Scope(MIDNIGHT_US + 5 * DAY_US // 24)
    assert scope_of(None, None, MIDNIGHT.replace(tzinfo=UTC), is_since=False) == Scope(None, MIDNIGHT_US)
    assert str(Scope(None, MIDNIGHT_US)) == "windows to 2024-01-31T00:00:00Z"
    assert str(Scope(MIDNIGHT_US, None, "run-1")) == "windows from 2024-01-31T00:00:00Z, since run run-1"


def test_without_them_all_windows_are_compared() -> None:
    assert scope_of(None, None, None, is_since=False) is None
    assert scope_of(None, None, None, is_since=True) is None


def test_a_time_is_named_in_one_way() -> None:
    with pytest.raises(click.UsageError, match="give one of --date, --from and --to, and --since"):
        scope_of(MIDNIGHT, None, None, is_since=True)
    with pytest.raises(click.UsageError, match="give one of"):
        scope_of(MIDNIGHT, MIDNIGHT.replace(tzinfo=UTC), None, is_since=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--date", "31.1.2024"], "does not match the format"),
        (["--from", "2024-01-31T00:00"], "has no time zone"),
        (["--from", "0001-01-01T00:00+05:00"], "is in UTC before the year 1 or after 9999"),
        (["--to", "9999-12-31T23:59-05:00"], "is in UTC before the year 1 or after 9999"),
        (["--since", "yesterday"], "is not 'last'"),
        (
            ["--from", "2024-02-01T00:00Z", "--to", "2024-01-31T00:00Z"],
            "nothing lies between 2024-02-01T00:00:00Z and 2024-01-31T00:00:00Z",
        ),
    ],
)
def test_what_names_no_time_is_refused_in_words(options: list[str], words: str) -> None:
    result = CliRunner().invoke(cli, ["reconcile", *options])
    assert result.exit_code == 2
    assert words in result.output

"""What `flagfall late` prints: every record named, reasons in words, wrong options told."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from app.codecs.batches.carrying import Original
from app.domain.corrections.correction import Correction
from app.domain.records import Place
from app.domain.rows import RowKey
from app.edge.cli.main import cli
from app.edge.cli.records.selecting import refuse_unknown, selection_of
from app.edge.cli.records.telling import echo_costs, echo_refused, echo_run, refused_as_json, run_as_json
from app.edge.late.cost import Compared, Cost
from app.edge.late.mending import Reader
from app.edge.late.refeed import APPLIED, LEFT, WOULD_APPLY, Changed, RecordOutcome, Refeeding
from app.rides.shipped import SHIPPED
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.material.refused import SCHEMAS, refused

PLACE = Place("rides.yellow", 1, 5)
READER = Reader(SHIPPED.by_topic, SCHEMAS)


def a_run() -> Refeeding:
    run = Refeeding.__new__(Refeeding)  # what it would need to reach a broker is not needed to tell what it did
    neutral = ZONE_DEMAND.neutral
    row = (3, *neutral[1:])
    correction = Correction("r", ZONE_DEMAND.name, "v", RowKey(300_000_000, (7,)), neutral, row, (PLACE,))
    run.run, run.changes = "refeed-1", [Changed(ZONE_DEMAND, 1, correction)]
    return run


def test_records_are_listed_as_they_are_and_counted_by_reason_and_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    records = [refused(), refused("bad_magic", b"\x01damaged")]
    counts = {("late", ZONE_DEMAND.name, "0a"): 12, ("late", ZONE_DEMAND.name, "0b"): 7, ("bad_magic", "", ""): 1}
    echo_refused(records, counts, READER)
    told = capsys.readouterr().out
    assert "rides.yellow-1" in told
    assert "ride_id=r vendor=1" in told
    assert "(bad_magic)" in told
    assert [line.split() for line in told.splitlines()[-3:]] == [
        ["bad_magic", "1"],
        ["late", ZONE_DEMAND.name, "0a", "12"],
        ["late", ZONE_DEMAND.name, "0b", "7"],
    ]


def test_json_has_values_only_where_they_are_asked_for_and_can_be_read() -> None:
    listed = refused_as_json([refused(), refused("bad_magic", b"\x01damaged")], {}, READER)["records"]
    assert [(one["values"] is None, one["unreadable"]) for one in listed] == [(False, None), (True, "bad_magic")]
    (plain,) = refused_as_json([refused()], {}, None)["records"]
    assert "values" not in plain
    assert (plain["topic"], plain["partition"], plain["offset"]) == PLACE


def test_json_says_which_records_were_shortened_and_reads_them_whole() -> None:
    (told,) = refused_as_json([refused()], {}, READER)["records"]
    assert (told["shortened"], told["value_bytes"]) == (False, len(refused().value or b""))
    kept = refused(value=b"\0", original=Original(4_000_000, "", 1, 0))
    (told,) = refused_as_json([kept], {}, READER)["records"]
    assert (told["shortened"], told["value_bytes"], told["unreadable"]) == (True, 4_000_000, "original_gone")
    (told,) = refused_as_json([kept], {}, Reader(SHIPPED.by_topic, SCHEMAS, lambda _: refused()))["records"]
    assert (told["shortened"], told["values"]["vendor"]) == (True, "1")


def test_what_became_of_each_record_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    told = [RecordOutcome(PLACE, ZONE_DEMAND.name, APPLIED), RecordOutcome(PLACE, VENDOR_TRIPS.name, LEFT, "all_time")]
    echo_run(a_run(), told, limit=1)
    out = capsys.readouterr().out
    assert "an all-time row never closes" in out
    assert "refeed-1: rows changed: 1" in out
    echo_run(a_run(), [RecordOutcome(PLACE, ZONE_DEMAND.name, WOULD_APPLY)], limit=1)
    assert "rows that would change: 1" in capsys.readouterr().out
    (row,) = run_as_json(a_run(), told)["rows"]
    assert (row["count_before"], row["count_after"], row["group"]) == (0, 3, [7])


def test_costs_stand_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    minutes = Compared("duration_minutes", "duration_us", (None, 5), (5, None))
    measures = [Compared("fare_cents", "fare_cents", 1234.5, None), minutes]
    echo_costs([Cost(ZONE_DEMAND, 999, 1, 0, measures), Cost(VENDOR_TRIPS, 0, 0, 0, [])])
    out = capsys.readouterr().out
    for told in ("0.1000%", "1,234.50", "no value", "[ … 5)", "[5 … )", "duration_us"):
        assert told in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--offsets", "7"], "FIRST:END"),
        (["--offsets", "a:b"], "FIRST:END"),
        (["--offsets", "-1:3"], "FIRST:END"),
        (["--offsets", "9:3"], "holds no offset"),
        (["--offsets", ":0"], "holds no offset"),
        (["--partition", "-1"], "--partition"),
        (["--partition", "999999999999"], "--partition"),
        (["--from", "2026-01-05T08:00"], "no time zone"),
        (["--reason", "out_of_bound:fare"], "no reason 'out_of_bound'; did you mean 'out_of_bounds'"),
        (["--to", "noon"], "--to"),
        (["--from", "2026-01-05T08:00Z", "--to", "2026-01-05T08:00Z"], "nothing is before --to"),
    ],
)
def test_a_selection_that_cannot_be_read_is_wrong_usage(arguments: list[str], told: str) -> None:
    ran = CliRunner().invoke(cli, ["late", "show", *arguments])
    assert ran.exit_code == 2
    assert told in ran.output


def test_offsets_and_times_are_half_open_and_either_end_may_lack() -> None:
    nothing: dict[str, tuple[str, ...]] = {"reasons": (), "views": (), "topics": (), "partitions": ()}
    chosen = selection_of(SHIPPED, **nothing, offsets="5:", from_=None, to=datetime.fromtimestamp(1, UTC))  # type: ignore[arg-type]
    assert (chosen.offsets, chosen.times_ms) == ((5, None), (None, 1000))
    whole = selection_of(SHIPPED, **nothing, offsets=":9", from_=None, to=None)  # type: ignore[arg-type]
    assert whole.offsets == (None, 9)


def test_a_view_that_does_not_exist_is_answered_with_those_that_do() -> None:
    ran = CliRunner().invoke(cli, ["late", "refeed", "--view", "zones"])
    assert ran.exit_code == 2
    assert "there are: zone_demand" in ran.output


@pytest.mark.parametrize("mended", ["[]", '{"counts": [], "records": []}', '[{"topic": "x", "values": null}]'])
def test_a_file_without_a_mended_record_re_feeds_none(tmp_path: Path, mended: str) -> None:
    file = tmp_path / "mended.json"
    file.write_text(mended)
    ran = CliRunner().invoke(cli, ["late", "refeed", "--mended", str(file), "--view", ZONE_DEMAND.name])
    assert ran.exit_code == 2
    assert "has values: nothing is to be re-fed" in " ".join(ran.output.split())


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:18081", "http://", "http://x:y", "ftp://127.0.0.1"])
@pytest.mark.parametrize(
    "command", [["late", "cost"], ["status"], ["reconcile"], ["query", "zone_demand"], ["sql", "x"]]
)
def test_what_is_no_workers_address_is_refused_at_once(command: list[str], address: str) -> None:
    ran = CliRunner().invoke(cli, [*command, "--worker", address])
    assert ran.exit_code == 2
    assert f"{address!r} is no worker's address; one is http://127.0.0.1:18081" in " ".join(ran.output.split())


def test_the_last_day_that_there_is_has_no_end() -> None:
    ran = CliRunner().invoke(cli, ["reconcile", "--date", "9999-12-31"])
    assert ran.exit_code == 2
    assert "9999-12-31 is the last day that there is" in ran.output


def test_all_refused_records_are_re_fed_only_where_that_is_said() -> None:
    ran = CliRunner().invoke(cli, ["late", "refeed"])
    assert ran.exit_code == 2
    assert "say which records, as --reason late --view zone_demand does, or --all" in ran.output
    both = CliRunner().invoke(cli, ["late", "refeed", "--all", "--reason", "late"])
    assert both.exit_code == 2
    assert "--all, or which records: not both" in both.output


def test_names_that_selected_nothing_and_that_nobody_knows_are_refused() -> None:
    refuse_unknown(SHIPPED, views=("zone_demand",), topics=("rides.yellow",))
    with pytest.raises(click.BadParameter, match=r"view 'zone_demant', and there is none; did you mean 'zone_demand'"):
        refuse_unknown(SHIPPED, views=("zone_demant", "zone_demand"), topics=())
    with pytest.raises(click.BadParameter, match=r"topic 'rides.yelow', and no source has it; did you mean 'rides.ye"):
        refuse_unknown(SHIPPED, views=(), topics=("rides.yelow",))


def test_a_view_selects_what_was_late_for_it_and_what_could_not_be_used_of_its_own_topics() -> None:
    nothing: dict[str, tuple[str, ...]] = {"reasons": (), "topics": (), "partitions": ()}
    chosen = selection_of(SHIPPED, **nothing, views=(ZONE_DEMAND.name,), offsets=None, from_=None, to=None)
    late, unusable = refused(), refused("bad_magic")
    assert chosen.takes(late)
    assert chosen.views_of(late) == late.views
    assert chosen.takes(unusable)
    assert not chosen.takes(replace(unusable, place=Place("bikes.trips", 0, 7)))
    assert not chosen.takes(replace(late, views={"another": "0a"}))
    both = replace(late, views={"another": "0a", **late.views})
    assert chosen.views_of(both) == late.views
    renamed = replace(late, views={"as it was called": ZONE_DEMAND.version})
    assert chosen.takes(renamed)

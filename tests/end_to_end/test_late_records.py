"""Late and damaged rides are shown, re-fed after a fix, and never doubled: the reconciliation finds them right."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, cast

import polars as pl
from confluent_kafka import Producer
from multidict import MultiDict
from pydantic import SecretStr

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.definitions.registered import register_schemas
from app.domain.oracle.view_fold import fold
from app.edge.http.evidence.asked_row import asked_row
from app.edge.http.evidence.search_cursors import decode, encode
from app.edge.http.query.instants import to_us
from app.edge.http.query.seal import Seal
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS, RIDES, avro_schema
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.evidence import evidence_of
from tests.support.flow import exported
from tests.support.machine.asking import flush
from tests.support.machine.closing import are_closed, close_all
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, flagfall
from tests.support.machine.world import covers, delete_records, messages, ready_worker
from tests.support.truth import log_ends, records_of

RIDES_WRITTEN = 4_000
NO_ZONE = "out_of_bounds:pickup_zone"


def test_refused_rides_come_back_once_and_the_verdict_is_match(world: Settings, tmp_path: Path) -> None:
    """Through kill -9, and a rebuild after half of the log of two tasks is gone: the others' corrections stay."""
    begin = log_ends(world, RIDES)
    write_rides(world, 0, RIDES_WRITTEN, dirt=Dirt(late=0.02, stray_years=0, duplicates=0))
    damage(world)
    with ready_worker(world, tmp_path, "first") as first:
        wait_for(lambda: covers(world, first), "every ride is covered", [first])
        late = fold(ZONE_DEMAND, records_of(world, RIDES)).late
        shown = told(flagfall(world, "late", "show", "--values", "--limit", "100000", "--json"))
        assert {(c["reason"], c["view"]): c["count"] for c in shown["counts"]} == {
            ("late", ZONE_DEMAND.name): len(late),
            (NO_ZONE, None): 1,
            ("undecodable", None): 1,
        }
        assert len(late) > 20

        (cost,) = told(flagfall(world, "late", "cost", "--worker", first.url, "--json"))
        assert (cost["late"], cost["applied"], cost["added_since"]) == (len(late), RIDES_WRITTEN - len(late), 0)
        fares = [r.values["fare_cents"] for r in late if r.values["fare_cents"] is not None]
        assert next(m["late"] for m in cost["measures"] if m["measure"] == "fare_cents") == sum(fares) / len(fares)

        early = told(refeed(world, first.url, "--reason", "late"))
        assert outcomes(early)[ZONE_DEMAND.name, "left", "open"] > 0
        close_all(world)
        wait_for(lambda: are_closed(world), "all windows have closed", [first])
        planned = told(refeed(world, first.url, "--reason", "late", "--dry-run"))
        assert outcomes(planned)[ZONE_DEMAND.name, "would_apply", None] > 0
        again = told(refeed(world, first.url, "--reason", "late", "--dry-run"))
        assert again["rows"] == planned["rows"]
        told(refeed(world, first.url, "--reason", "late"))
        mended = mend(shown, tmp_path)
        fixed = told(refeed(world, first.url, "--mended", str(mended)))
        assert outcomes(fixed) == {
            (ZONE_DEMAND.name, "applied", None): 1,
            (VENDOR_TRIPS.name, "left", "all_time"): 1,
        }
        first.kill()

    with ready_worker(world, tmp_path, "second") as second:
        for chosen in (["--reason", "late"], ["--mended", str(mended)]):
            repeated = told(refeed(world, second.url, *chosen))
            assert repeated["rows"] == []
            assert outcomes(repeated)[ZONE_DEMAND.name, "left", "already_added"] > 0
        assert corrected(world).total() > 20
        assert counted(world, second) == RIDES_WRITTEN + 1
        assert_evidence(world, second, mended)
        assert second.stop() == 0

    finals, lost = revisions(world), (0, 1)
    middle = {at: (begin[at] + end) // 2 for at, end in log_ends(world, RIDES).items() if at[1] in lost}
    delete_records(world, middle)
    assert flagfall(world, "rebuild", "--yes").returncode == 0
    with ready_worker(world, tmp_path, "third") as third:
        wait_for(lambda: covers(world, third, ZONE_DEMAND), "the zones are built anew", [third])
        kept = sum(count for partition, count in corrected(world).items() if partition not in lost)
        assert reconciled(world, third, tmp_path / "runs")["corrections"] == kept > 0
        assert 0 < counted(world, third) < RIDES_WRITTEN
        assert revisions(world) == finals


def assert_evidence(world: Settings, started: Worker, mended: Path) -> None:
    """Rows are told with their records: those that were re-fed as such, also from one to the next page."""
    corrections = [told for _, told in applied(world)]
    added = {tuple(place) for one in corrections for place in one["adds"]}
    keys = {(one["window_start_us"], *one["group"]) for one in corrections}
    (fixed,) = json.loads(mended.read_text())
    place = [fixed["topic"], fixed["partition"], fixed["offset"]]
    (by_hand,) = ((one["window_start_us"], *one["group"]) for one in corrections if place in one["adds"])
    rows = started.get(f"/v1/views/{ZONE_DEMAND.name}/rows", limit=10_000).json()["data"]
    mended = [row for row in rows if (to_us(row["window"]["start"]), row["group"]["zone"]) in keys]
    assert [row for row in rows if row["state"] == "corrected"] == mended
    assert not any(row["final"] for row in mended)
    mended.sort(key=lambda row: (to_us(row["window"]["start"]), row["group"]["zone"]) != by_hand)
    seen = set[tuple[Any, ...]]()
    for row in (*mended[:10], *rows[:: len(rows) // 10]):
        found = evidence_of(started, ZONE_DEMAND, row)
        assert (found.meta["agrees"], found.meta["missing"]) == (True, None), found.meta
        assert evidence_of(started, ZONE_DEMAND, row, 1_000, to_the_end=True).meta["agrees"]
        assert found.meta["row"]["state"] == row["state"]
        assert len(found.records) == found.meta["found"]["count"] == row["count"]
        assert found.meta["found"]["fingerprint"] == row["fingerprint"]
        for record in found.records:
            place = (record["topic"], record["partition"], record["offset"])
            assert record["added"] == (place in added)
            seen.add(place)
    assert seen & added
    assert_made_up_cursors_are_refused(started, next(row for row in rows if row["count"] > 1))


def assert_made_up_cursors_are_refused(started: Worker, row: dict[str, Any]) -> None:
    asked = {"zone": row["group"]["zone"], "from": row["window"]["start"]}
    told, _ = asked_row(ZONE_DEMAND, MultiDict({name: str(value) for name, value in asked.items()}))
    address = f"/v1/views/{ZONE_DEMAND.name}/evidence"
    page = started.get(address, **asked, limit=1).json()
    seal = Seal(SecretStr(""))  # these workers have no token
    cursor = decode(seal, ZONE_DEMAND, told, page["meta"]["next_cursor"], to_the_end=False)
    ahead = tuple(offset + 1 for offset in cursor.position)
    for made_up in ({"position": ahead}, {"position": ahead[1:]}, {"wanted": cursor.wanted | {900: 1}}):
        refused = started.get(address, **asked, cursor=encode(seal, cursor.model_copy(update=made_up)))
        assert (refused.status_code, refused.json()["type"]) == (400, "urn:flagfall:problem:bad-cursor"), refused.text


def reconciled(world: Settings, started: Worker, output: Path) -> dict[str, Any]:
    """What the report of a MATCH says of the zones."""
    verdict = flagfall(world, "reconcile", "--worker", started.url, "--output", str(output), "--json")
    assert verdict.returncode == 0, verdict.stdout + verdict.stderr
    (report,) = output.glob("*/report.json")
    (zones,) = (v for v in json.loads(report.read_text())["views"] if v["view"] == ZONE_DEMAND.name)
    return cast(dict[str, Any], zones)


def refeed(world: Settings, url: str, *arguments: str) -> Any:
    return flagfall(world, "late", "refeed", "--worker", url, *arguments, "--json")


def told(ran: Any) -> dict[str, Any]:
    assert ran.returncode == 0, ran.stdout + ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def outcomes(document: dict[str, Any]) -> Counter[tuple[str, str, str | None]]:
    return Counter((one["view"], one["outcome"], one["why"]) for one in document["records"])


def damage(world: Settings) -> None:
    """A ride in a zone that is none, and one that was cut off."""
    ride = Generator(seed=1, dirt=Dirt.none()).rides(50, 1)
    schema_id = register_schemas(world, (RIDES,))["rides.yellow"]
    columns = [column.name for column in RIDE_COLUMNS]
    wrong = ride.with_columns(pickup_zone=pl.lit(9_999, pl.Int64)).select(columns)
    (nowhere,), (good,) = (encode_frame(r, avro_schema(), schema_id) for r in (wrong, ride.select(columns)))
    producer = Producer(librdkafka_options(world.kafka))
    for value in (bytes(nowhere), bytes(good)[:-3]):
        producer.produce("rides.yellow", value, partition=0, timestamp=int(ride["clock_ms"][0]))
    flush(producer)


def mend(shown: dict[str, Any], folder: Path) -> Path:
    """The file that a user makes of what was shown: the wrong zone corrected."""
    (record,) = (one for one in shown["records"] if one["reason"] == NO_ZONE)
    record["values"]["pickup_zone"] = 132
    file = folder / "mended.json"
    file.write_text(json.dumps([record]))
    return file


def revisions(world: Settings) -> Counter[tuple[bytes, int]]:
    """How often each revision of each final was published."""
    published = messages(world, names.finals_topic(ZONE_DEMAND.name))
    return Counter((final.key(), json.loads(final.value())["revision"]) for final in published)


def applied(world: Settings) -> list[tuple[int, dict[str, Any]]]:
    """Corrections that tasks have applied, each with its task."""
    told = [(m.partition(), json.loads(m.value())) for m in messages(world, names.corrected_topic(world.app_id))]
    return [(task, one["correction"]) for task, one in told if one["outcome"] == "applied"]


def corrected(world: Settings) -> Counter[int]:
    """How many, by task."""
    return Counter(task for task, _ in applied(world))


def counted(world: Settings, started: Worker) -> int:
    """Rides in all rows of the zones."""
    return sum(cells[0] for cells in exported(ZONE_DEMAND, [started], world.topics.partitions).values())

"""Names of zones: the list, its records, what a worker holds of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.base.kafka.cluster import ClusterError
from app.edge.cli.main import run
from app.edge.http.zone_names import name_columns, names_document, no_names
from app.engine.drive.kafka import held_topic
from app.engine.drive.kafka.held_topic import HeldTopic, take_record
from app.rides.zones import Zone, read_zone, read_zones, zone_key, zone_value, zones

HEADING = "LocationID,Borough,Zone,service_zone\n"


def test_all_zones_of_tlc_are_listed_and_a_record_says_what_the_list_says() -> None:
    assert list(zones()) == list(range(1, 266))
    assert zones()[132] == Zone(132, "JFK Airport", "Queens")
    assert all(read_zone(zone_value(zone)) == zone for zone in zones().values())


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("1,EWR,Newark,x\nx,Queens,Jamaica,x\n", "line 3: LocationID"),
        ("1,EWR,Newark,x\n1,EWR,Newark,x\n", "line 3: zone 1 is there twice"),
        ("1,,Newark,x\n", "line 2: zone 1"),
        ("1\n", "line 2: "),
    ],
)
def test_a_mistake_in_a_list_is_told_with_its_line(
    lines: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=told):
        read_zones(HEADING + lines)
    (tmp_path / "zones.csv").write_text(HEADING + lines)
    assert run(["zones", "publish", "--csv", str(tmp_path / "zones.csv")]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"zone": "1", "name": "a", "borough": "b"}',
        b'{"zone": 1}',
        b'{"zone": 1, "name": "\\ud800", "borough": "b"}',
        b"9" * 5000,
        b"[" * 100_000,
    ],
)
def test_what_is_no_zone_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError):
        read_zone(value)


def test_the_latest_record_of_a_zone_names_it_until_a_tombstone_does_not() -> None:
    names = no_names()
    assert name_columns(names, "zone", 132) == {"zone_name": None, "zone_borough": None}
    names.take(zone_key(132), zone_value(zones()[132]))
    names.take(zone_key(132), zone_value(Zone(132, "Idlewild", "Queens")))
    assert name_columns(names, "zone", 132) == {"zone_name": "Idlewild", "zone_borough": "Queens"}
    assert name_columns(names, "zone", None) == {"zone_name": None, "zone_borough": None}
    names.take(zone_key(132), None)
    assert name_columns(names, "zone", 132) == {"zone_name": None, "zone_borough": None}
    with pytest.raises(ValueError, match="no key"):
        names.take(None, b"{}")


def test_a_record_that_cannot_be_read_is_told_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    names = no_names()
    take_record(names, SimpleNamespace(offset=4, key=b"132", value=zone_value(zones()[132])))  # type: ignore[arg-type]
    take_record(names, SimpleNamespace(offset=5, key=b"132", value=b"JFK"))  # type: ignore[arg-type]
    assert names.values == {b"132": zones()[132]}
    assert "zones-0: the record at offset 5 is left out" in caplog.text


async def test_a_worker_without_the_topic_says_so_and_is_not_held_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_topic, "AGAIN_SECONDS", 86_400.0)  # nobody waits so long for a test that is held

    def ask(wanted: list[str]) -> None:
        raise ClusterError(f"no topic {wanted}")

    connections: Any = SimpleNamespace(client={}, cluster=SimpleNamespace(topics=ask))
    holder = HeldTopic(no_names(), connections)
    await holder.start()
    while "no topic" not in (holder.held.why or ""):
        await asyncio.sleep(0)
    await holder.stop()
    assert names_document(holder.held) == {"topic": "zones", "next_offset": None, "why": "no topic ['zones']"}


def test_an_answer_says_which_names_it_used_or_why_there_are_none() -> None:
    names = no_names()
    assert names_document(names) == {"topic": "zones", "next_offset": None, "why": "it has not been read yet"}
    names.next_offset, names.why = 0, None
    assert "flagfall zones publish" in names_document(names)["why"]
    names.next_offset = 265
    assert names_document(names) == {"topic": "zones", "next_offset": 265, "why": None}

"""Generated life cycles in their topics: the command, the schemas, and one partition for all records of a ride."""

from __future__ import annotations

import json

import pytest

from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.edge.cli.main import run
from app.edge.cli.records.lifecycle_sending import send_lifecycle
from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.topics import source_topics
from tests.support.machine.world import delete_records
from tests.support.truth import log_ends, records_of

RIDES = 1_500


@pytest.fixture
def lives(settings: Settings) -> Settings:
    """Topics of life cycles, without a record."""
    on = settings.model_copy(update={"lifecycle": True})
    create_topics(on.kafka, [topic for source in (RIDE_EVENTS, FARES) for topic in source_topics(on, source)])
    delete_records(on, log_ends(on, RIDE_EVENTS) | log_ends(on, FARES))
    return on


def test_every_record_arrives_once_as_it_was_made_and_those_of_a_ride_are_in_one_partition(lives: Settings) -> None:
    lifecycle = Lifecycle(3)
    facts = send_lifecycle(lives, lifecycle, 100, RIDES, None, quiet=True)
    partitions: dict[str, set[int]] = {}
    for source, frame in zip((RIDE_EVENTS, FARES), lifecycle.block(100, RIDES), strict=True):
        records = records_of(lives, source)
        assert facts["records_by_topic"][source.name] == len(records) == frame.height
        made = frame.to_dicts()
        found = [{**record.values, "clock_ms": record.timestamp_ms} for record in records]
        assert sorted(map(_text, found)) == sorted(map(_text, made))
        for record in records:
            partitions.setdefault(str(record.values["ride_id"]), set()).add(record.partition)
    assert {len(where) for where in partitions.values()} == {1}
    assert len(partitions) == RIDES


def test_the_command_tells_what_it_sent(
    lives: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FLAGFALL_LIFECYCLE", "true")
    monkeypatch.setenv("FLAGFALL_KAFKA_BOOTSTRAP_SERVER", lives.kafka.bootstrap_server)
    monkeypatch.setenv("FLAGFALL_REGISTRY_URL", lives.registry_url)
    arguments = ["generate", "--lifecycle", "--rides", "50", "--no-dirt", "--dirt-share", "missing_ends=1", "--json"]
    assert run(arguments) == 0
    assert json.loads(capsys.readouterr().out)["records_by_topic"]["ride_events"] == 50


def _text(record: dict[str, object]) -> str:
    return json.dumps(record, sort_keys=True)

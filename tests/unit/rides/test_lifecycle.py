"""Generated life cycles: their dirt, plausible shifts, records that their sources take, and that they never change."""

from __future__ import annotations

import hashlib
import json

import polars as pl
import pytest

from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.definitions.registered import value_schemas
from app.domain.source import out_of_bounds
from app.edge.cli.main import run
from app.rides.closing import closing_watermark_us
from app.rides.generator.demand import MAX_NUMBER
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.lifecycle.dirt import LifecycleDirt
from app.rides.lifecycle.lifecycle import Block, Lifecycle
from app.rides.lifecycle.pairing import FARED_STARTS, LONG_RIDES
from app.rides.lifecycle.sources import END, FARES, RIDE_EVENTS, START
from app.rides.shipped import shipped
from app.topics import topics

HOUR_US = 3_600_000_000
RIDES = 40_000


def block(**shares: float) -> Block:
    """A Monday's rides with these kinds of dirt alone."""
    none = dict.fromkeys(LifecycleDirt.__dataclass_fields__, 0.0)
    return Lifecycle(seed=11, dirt=LifecycleDirt(**{**none, **shares})).block(0, RIDES)


def test_without_dirt_every_ride_has_a_start_and_an_end_and_a_fare_where_one_is_published() -> None:
    events, fares = block()
    published = Generator(11, dirt=Dirt.none()).rides(0, RIDES).filter(pl.col("service") != "fhv")
    assert events.group_by("kind").len().sort("kind").rows() == [(END, RIDES), (START, RIDES)]
    assert sorted(fares["ride_id"]) == sorted(published["ride_id"])
    assert events.filter(pl.col("clock_ms") * 1000 != pl.col("happened_at_us")).is_empty()


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_each_kind_of_dirt_has_its_share(share: float) -> None:
    whole = block()
    events, fares = block(missing_ends=share, missing_fares=share)
    assert events.filter(pl.col("kind") == END).height == pytest.approx((1 - share) * RIDES, rel=0.05)
    assert fares.height == pytest.approx((1 - share) * whole.fares.height, rel=0.05)
    events, fares = block(duplicates=share)
    assert events.height == pytest.approx((1 + share) * 2 * RIDES, rel=0.05)
    assert fares.height == pytest.approx((1 + share) * whole.fares.height, rel=0.05)
    late = (pl.col("clock_ms") - pl.col("paid_at_us") // 1000).is_between(3_600_000, 24 * 3_600_000)
    assert block(late_fares=share).fares.filter(late).height == pytest.approx(share * whole.fares.height, rel=0.05)
    disordered = block(disorder=share).events.filter(pl.col("clock_ms") > pl.col("happened_at_us") // 1000)
    assert disordered.height == pytest.approx(share * 2 * RIDES, rel=0.05)


def test_a_duplicate_says_the_same_again_later() -> None:
    events, _ = block(duplicates=0.2)
    twice = events.filter(pl.struct("ride_id", "kind").is_duplicated())
    assert twice.drop("clock_ms").unique().height * 2 == twice.height
    assert twice.unique().height == twice.height


def test_disorder_puts_ends_before_starts_and_fares_before_both() -> None:
    events, fares = block(disorder=0.25)
    sent = {kind: events.filter(pl.col("kind") == kind).select("ride_id", "clock_ms") for kind in (START, END)}
    both = sent[START].join(sent[END], on="ride_id", suffix="_end").join(fares, on="ride_id", suffix="_fare")
    assert both.filter(pl.col("clock_ms_end") < pl.col("clock_ms")).height > 100
    assert both.filter(pl.col("clock_ms_fare") < pl.col("clock_ms")).height > 100


def test_shifts_are_as_long_as_people_work() -> None:
    rides = Lifecycle(seed=11).rides(0, 3 * 131_072)
    spans = rides.group_by("driver_id").agg(pl.col("dropoff_at_us").max() - pl.col("pickup_at_us").min(), pl.len())
    hours = spans["dropoff_at_us"] / HOUR_US
    assert 3 < (hours.median() or 0) < 10  # type: ignore[operator]
    assert (hours.max() or 0) < 16  # type: ignore[operator]
    assert 5 < (spans["len"].mean() or 0) < 20  # type: ignore[operator]


def test_the_last_numbers_have_lives_too() -> None:
    assert Lifecycle(1, rides_per_day=4_000_000).block(MAX_NUMBER - 5, 5).events.height >= 5


def test_every_record_is_one_that_its_source_takes() -> None:
    events, fares = Lifecycle(seed=11).block(0, 2_000)
    for source, frame in ((RIDE_EVENTS, events), (FARES, fares)):
        (topic,) = source.topics
        schema = value_schemas(shipped(Settings.load(lifecycle=True)))[f"{topic.name}-value"]
        for value, row in zip(encode_frame(frame, schema, 5), frame.to_dicts(), strict=True):
            decoded = StrictDecoder(source.columns).decode(value, {5: WriterSchema(5, json.dumps(schema))})
            assert not isinstance(decoded, Unreadable)
            assert decoded == {name: row[name] for name in decoded}
            assert out_of_bounds(source, decoded) is None


def test_the_records_never_change() -> None:
    text = "".join(frame.write_csv() for frame in Lifecycle(seed=7).block(1_000, 1_000))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "66b344cc55592fc8"


def test_the_topics_are_there_only_if_the_settings_say_so() -> None:
    names = {"ride_events", "fares"}
    assert not names & {topic.name for topic in topics(Settings.load())}
    entries = [topic for topic in topics(Settings.load(lifecycle=True)) if topic.name in names]
    assert {topic.name for topic in entries} == names
    assert {topic.partitions for topic in entries} == {Settings.load().topics.partitions}


def test_generating_without_the_topics_says_what_to_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "--lifecycle", "--rides", "10"]) == 1
    assert "FLAGFALL_LIFECYCLE=true" in capsys.readouterr().err


def test_closing_lets_halves_and_beginnings_go() -> None:
    hour_us = 3_600_000_000
    assert closing_watermark_us(0, [], [FARED_STARTS, LONG_RIDES]) == 7 * hour_us
    assert closing_watermark_us(0, [], [LONG_RIDES]) == 2 * hour_us + hour_us // 6


def test_dirt_of_the_other_kind_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["generate", "--lifecycle", "--dirt-share", "refunds=0.1"]) == 2
    assert run(["generate", "--dirt-share", "missing_ends=0.1"]) == 2
    assert "missing_ends=0.1" in capsys.readouterr().err
    assert run(["generate", "--dirt-share", "refund=0.1"]) == 2
    assert "no kind of dirt 'refund'; did you mean 'refunds'" in capsys.readouterr().err


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_of_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=f"dirt missing_ends={share}: a share of the rides"):
        LifecycleDirt(missing_ends=share)


def _json(schema: object) -> str:
    import json

    return json.dumps(schema)

"""What tasks write of joins and alerts is what Spark says they must have written; what was done to it is named."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.advance import Advance
from app.domain.difference import DifferenceKind
from app.domain.fingerprint import MAX_OFFSET, unpack
from app.domain.marker import Marker
from app.domain.pairs.join import LEFT_ORIGIN, JoinKind, Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value, as_integer
from app.engine.core.batch import Output
from app.testkit.encoding import encode, schema_of
from spark_batch.errors import Inconclusive
from spark_batch.findings.results import ComparedResults
from spark_batch.pairs.check import JudgedSource, Rematched, rematched
from spark_batch.pairs.compared import TaskBounds, compare_results
from spark_batch.source.decode_avro import decode
from spark_batch.stored.cut import SourceCut
from tests.support.material.pairing.calls import (
    BILLED,
    CALLS,
    EVENTS,
    LONG,
    PAID,
    SCHEMA_IDS,
    WHOLE,
    core_of,
    defined,
    of_kind,
    outputs,
    play,
)
from tests.support.material.pairing.marked import marked
from tests.support.material.pairing.two_logs import two_logs

pytestmark = pytest.mark.spark

PAIRED = of_kind(PAID, JoinKind.OUTER)
ALTERED, DOUBLED = DifferenceKind.ALTERED, DifferenceKind.DOUBLED
LOST, UNNAMED = DifferenceKind.LOST, DifferenceKind.UNNAMED
PAIRINGS: tuple[Pairing, ...] = (PAIRED, WHOLE, LONG)


@dataclass
class Played:
    """What a task wrote of each pairing in the order of its topic, and what Spark makes of the same records."""

    spark: SparkSession
    marker: Marker
    written: dict[str, list[Output]]
    read: dict[int, JudgedSource]

    def cuts(self) -> list[SourceCut]:
        return [SourceCut(CALLS, 0, self.marker, 0)]

    def own(self, pairing: Pairing) -> Rematched:
        return rematched(pairing, self.cuts(), self.read)

    def sent(self, pairing: Pairing, written: Sequence[Output]) -> DataFrame:
        """The topic as it would be read."""
        told = [(0, offset, bytearray(one.value or b"")) for offset, one in enumerate(written)]
        raw = self.spark.createDataFrame(told, "task int, offset long, value binary")
        return decode(raw, pairing.source, [schema_of(pairing.source, SCHEMA_IDS[pairing.output.name])])

    def compared(
        self, pairing: Pairing, written: Sequence[Output], own: Rematched | None = None, log_start: int = 0
    ) -> ComparedResults:
        due = own or self.own(pairing)
        bounds = {0: TaskBounds(*due.began[0], log_start)}
        return compare_results(pairing, due.due, self.sent(pairing, written), bounds)


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Played:
    draws = random.Random(4)
    logs = two_logs(draws, 300)
    core = core_of(defined([PAIRED, WHOLE], [LONG]))
    transactions = play(core, logs, draws)
    folder: Path = tmp_path_factory.mktemp("played")
    read = {log.source.number: JudgedSource(marked(spark, log, folder).cache(), log.raised) for log in logs}
    assert read.keys() == {CALLS.number, BILLED.number}
    written = {one.name: outputs(transactions, one.output.name) for one in PAIRINGS}
    return Played(spark, core.state.marker, written, read)


@pytest.mark.parametrize("pairing", PAIRINGS, ids=lambda one: one.name)
def test_what_a_task_wrote_and_counted_is_what_is_due(pairing: Pairing, played: Played) -> None:
    own, written = played.own(pairing), played.written[pairing.name]
    assert [entry for entry in own.ledger if entry.differs] == []
    assert {"decoded", "duplicate"} < {entry.name for entry in own.ledger}
    assert played.compared(pairing, written, own) == ComparedResults(len(written), 0, 0, 0, {}, [])
    assert len(written) > 10


def test_what_was_done_to_a_topic_is_named(played: Played) -> None:
    """One lost, one doubled, one altered, one made up; and what came since the cut is left alone."""
    written, own = [*played.written[PAIRED.name]], played.own(PAIRED)
    lost, doubled, altered = written[2], written[5], written[7]
    of_other = changed(altered, cents=999)
    made_up, since = (changed(written[0], left_origin=PAIRED.origin(Side.LEFT, 0, offset)) for offset in (700, 800))
    spoilt = [*written[:2], *written[3:6], made_up, written[6], of_other, *written[8:], doubled, since]
    found = played.compared(PAIRED, spoilt, own)
    assert found.counts == dict.fromkeys((ALTERED, DOUBLED, LOST, UNNAMED), 1)
    assert (found.due, found.later, found.gone, found.former) == (len(written), 1, 0, 0)
    by_kind = {one.kind: one for one in found.differences}
    assert by_kind[LOST].recomputed == values_of(lost)
    assert (by_kind[LOST].sent, by_kind[LOST].offset) == (None, None)
    assert (by_kind[DOUBLED].offset, by_kind[DOUBLED].sent) == (spoilt.index(since) - 1, values_of(doubled))
    assert by_kind[ALTERED].sent == values_of(altered) | {"cents": 999}
    assert by_kind[ALTERED].recomputed == values_of(altered)
    assert (by_kind[UNNAMED].offset, by_kind[UNNAMED].recomputed) == (spoilt.index(made_up), None)


def test_what_a_topic_no_longer_holds_is_counted_and_no_fault(played: Played) -> None:
    written = played.written[LONG.name]
    found = played.compared(LONG, written[3:], log_start=3)
    assert (found.gone, found.counts, found.due) == (3, {}, len(written))


def test_results_of_before_a_join_began_are_left_alone(played: Played) -> None:
    written, own = played.written[WHOLE.name], played.own(WHOLE)
    offsets = sorted(unpack(as_integer(values_of(one, WHOLE)[LEFT_ORIGIN])).offset for one in written)
    middle = offsets[len(offsets) // 2]
    began = own.due.where(F.col(LEFT_ORIGIN).bitwiseAND(F.lit(MAX_OFFSET)) >= middle)
    found = played.compared(WHOLE, written, Rematched(began, own.ledger, {0: (middle, 0)}))
    assert (found.former, found.due, found.counts) == (offsets.index(middle), len(offsets) - offsets.index(middle), {})


def test_a_marker_that_counted_one_more_is_told(played: Played) -> None:
    lying = replace(played, marker=one_fewer(played.marker, PAIRED.name))
    (told,) = (entry for entry in lying.own(PAIRED).ledger if entry.differs)
    assert (told.topic, told.name, told.marker) == (PAIRED.output.name, "unmatched", told.recomputed - 1)


def test_nothing_is_said_while_what_an_advance_let_leave_is_being_told(played: Played) -> None:
    at = played.marker.position_in(EVENTS)
    advance = Advance(EVENTS, 0, at.next_offset, at.watermark_us)
    calls = played.read[CALLS.number]
    read = played.read | {CALLS.number: calls._replace(advances=[*calls.advances, advance])}
    waiting = replace(played, marker=one_fewer(played.marker, PAIRED.name), read=read)
    with pytest.raises(Inconclusive, match="paid_calls partition 0: an advance let"):
        waiting.own(PAIRED)


def test_a_marker_of_another_release_is_told_as_such(played: Played) -> None:
    older = replace(played, marker=replace(played.marker, joins={}))
    with pytest.raises(Inconclusive, match=r"partition 0: paid_calls is not there, here it is \w{8}: workers and"):
        older.own(PAIRED)


def one_fewer(marker: Marker, name: str) -> Marker:
    position = marker.joins[name]
    return replace(marker, joins=marker.joins | {name: replace(position, unmatched=position.unmatched - 1)})


def values_of(written: Output, pairing: Pairing = PAIRED) -> dict[str, Value]:
    schema_id = SCHEMA_IDS[pairing.output.name]
    told = StrictDecoder(pairing.source.columns).decode(
        written.value, {schema_id: schema_of(pairing.source, schema_id)}
    )
    assert not isinstance(told, Unreadable)
    return told


def changed(written: Output, **values: Value) -> Output:
    """With other values."""
    source, schema_id = PAIRED.source, SCHEMA_IDS[PAIRED.output.name]
    return written._replace(value=encode(source, schema_id, values_of(written) | values))

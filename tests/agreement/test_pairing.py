"""Joins of every kind and alerts: what a task does equals the naive rules, whatever batches and interleaving."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.base import names
from app.codecs.avro.strict import StrictDecoder
from app.domain.fingerprint import mix, signed
from app.domain.oracle.alert_fold import ToldAlert, fold_alert
from app.domain.oracle.join_fold import Joined, fold_join
from app.domain.pairs.alert import AT_OFFSET, END_ORIGIN, START_ORIGIN, TOLD_AT
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join, JoinKind, Side
from app.domain.pairs.pairing import Pairing
from app.engine.core.batch import Transaction
from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.testkit.encoding import schema_of
from tests.support.material.pairing.calls import (
    BILLS,
    CALLS,
    EVENTS,
    LONG,
    PAID,
    SCHEMA_IDS,
    WHOLE,
    CallLog,
    core_of,
    defined,
    of_kind,
    outputs,
    play,
    random_log,
)
from tests.support.material.pairing.two_logs import two_logs
from tests.support.tasks.batches import as_batches

SEEDS = st.integers(0, 2**32)
KINDS = st.sampled_from(JoinKind)


def told(of: Pairing, done: list[Transaction]) -> list[dict[str, Any]]:
    """What a join or alert has sent on, in order."""
    schema_id = SCHEMA_IDS[of.output.name]
    schemas = {schema_id: schema_of(of.source, schema_id)}
    decoded = [
        StrictDecoder(of.source.columns).decode(output.value, schemas) for output in outputs(done, of.output.name)
    ]
    assert all(isinstance(values, dict) for values in decoded)
    return [values for values in decoded if isinstance(values, dict)]


def truth(join: Join, logs: list[CallLog]) -> Joined:
    return fold_join(join, [r for log in logs for r in log.records], [a for log in logs for a in log.raised])


def wanted_origins(join: Join, joined: Joined) -> list[tuple[int | None, int | None]]:
    """Origins of all joined records, those that nobody met among them where the kind says so."""
    alone: list[tuple[int | None, int | None]] = []
    if join.kind.may_lack(Side.RIGHT):
        alone += [(origin, None) for origin in joined.unmatched[Side.LEFT]]
    if join.kind.may_lack(Side.LEFT):
        alone += [(None, origin) for origin in joined.unmatched[Side.RIGHT]]
    return [*joined.pairs, *alone]


@given(seed=SEEDS, kind=KINDS, one_topic=st.booleans())
def test_a_join_of_any_kind_gives_what_the_two_prefixes_say(seed: int, kind: JoinKind, one_topic: bool) -> None:
    draws = random.Random(seed)
    join, logs = of_kind(WHOLE if one_topic else PAID, kind), two_logs(draws)
    core = core_of(defined([join]))
    done = play(core, logs, draws)
    expected = truth(join, logs)
    given = told(join, done)
    origins = wanted_origins(join, expected)
    assert sorted(((t[LEFT_ORIGIN], t[RIGHT_ORIGIN]) for t in given), key=str) == sorted(origins, key=str)
    for values in given:
        lacks_left, lacks_right = values[LEFT_ORIGIN] is None, values[RIGHT_ORIGIN] is None
        assert None not in (values["known_at_us"], values["call_id"])
        right_column = "to_place" if one_topic else "cents"
        assert not lacks_left or values["from_place" if one_topic else "place"] is None
        assert not lacks_right or values[right_column] is None
    position = core.state.marker.joins[join.name]
    assert position.joined == len(expected.pairs)
    assert position.unmatched == sum(map(len, expected.unmatched.values()))
    assert len(outputs(done, names.unmatched_topic("app"))) == position.unmatched
    in_records = [origin for pair in origins for origin in pair if origin is not None]
    assert (position.count, position.fingerprint) == (len(in_records), signed(sum(map(mix, in_records))))
    fates = position.fates.values()
    for fate, records in (
        ("applied", expected.applied),
        ("late", expected.late),
        ("duplicate", expected.duplicates),
        ("out_of_scope", expected.out_of_scope),
    ):
        assert sum(getattr(f, fate) for f in fates) == len(records), fate


@given(seed=SEEDS)
def test_the_order_of_a_joins_output_over_one_topic_does_not_depend_on_the_batches(seed: int) -> None:
    """Halves leave before the record that let them: of two topics only the order in which they are read decides."""
    draws = random.Random(seed)
    join = of_kind(WHOLE, JoinKind.OUTER)
    log = random_log(draws, CALLS, EVENTS, 80)
    log.raised.clear()
    in_time = [told(join, play(core_of(defined([join])), [log], draws, most)) for most in (1, 200)]
    assert in_time[0] == in_time[1]


@given(seed=SEEDS)
def test_an_alert_is_told_once_at_its_offset_whatever_the_batches(seed: int) -> None:
    draws = random.Random(seed)
    log = random_log(draws, CALLS, EVENTS, draws.randint(0, 80))
    core = core_of(defined(alerts=[LONG]))
    done = play(core, [log], draws)
    expected = fold_alert(LONG, log.records, log.raised)
    given = told(LONG, done)
    assert [ToldAlert(t[START_ORIGIN], t[END_ORIGIN], t[AT_OFFSET], t[TOLD_AT]) for t in given] == expected.told
    times = [t[TOLD_AT] for t in given]
    assert times == sorted(times)
    position = core.state.marker.alerts[LONG.name]
    assert position.told == len(expected.told)
    (fates,) = position.fates.values() if position.fates else [None]
    if fates is not None:
        assert fates.applied == len(expected.applied)
        assert fates.late == len(expected.late)
        assert fates.duplicate == len(expected.duplicates)
        assert fates.out_of_scope == len(expected.out_of_scope)
    open_now = {place for place, value in core.state.halves[LONG.name].stored().items() if value[1]}
    assert open_now == {origin & ((1 << 44) - 1) for origin in expected.open}


@given(seed=SEEDS)
def test_halves_and_watched_records_are_restored_and_at_last_forgotten(seed: int) -> None:
    draws = random.Random(seed)
    definition = defined([of_kind(PAID, JoinKind.LEFT), WHOLE], [LONG])
    core, logs = core_of(definition), two_logs(draws)
    done = play(core, logs, draws)
    assert restored(core, done, draws) == held(core)
    for topic in (EVENTS, BILLS):
        transaction = core.advance(topic, 4_102_444_800_000_000)
        while transaction is not None:
            core.commit(transaction, 0)
            done.append(transaction)
            transaction = core.keep_up()
    assert held(core) == {"paid_calls": {}, "whole_calls": {}, "long_calls": {}}
    assert restored(core, done, draws) == held(core)


def held(core: TaskCore) -> dict[str, Mapping[int, bytes]]:
    return {name: halves.stored() for name, halves in core.state.halves.items()}


def restored(core: TaskCore, done: list[Transaction], draws: random.Random) -> dict[str, Mapping[int, bytes]]:
    restorer = Restorer(core.definition)
    for batch in as_batches([record for transaction in done for record in transaction.changelog], draws):
        restorer.read(batch)
    state = restorer.finish(core.state.marker.inputs, 0)
    assert state.marker == core.state.marker
    return {name: halves.stored() for name, halves in state.halves.items()}

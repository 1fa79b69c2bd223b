"""Finals of rows that merge through restarts, releases, corrections, and steps of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.base import names
from app.codecs.stored.closings import Replaced, as_final_key, encode_open, encode_replaced
from app.codecs.stored.row_keys import encode_keys
from app.domain.errors import DefinitionError
from app.domain.view import Group
from app.engine.core.results import closing, merging, open_rows
from app.testkit.cluster.partition_log import SentRecord
from tests.support.material.merging_tasks import SESSIONS, Tasks, in_minutes
from tests.support.material.parcel import AIR
from tests.support.material.stored.row_keys import as_open_key


@pytest.mark.parametrize("compact", [False, True])
def test_what_waits_and_what_is_open_outlives_every_worker(compact: bool) -> None:
    tasks = Tasks()
    tasks.sees(0, 0, 30)
    tasks.sees(1, 9, 18, 27)
    tasks.closes(0, 100)
    tasks.restart(compact=compact)
    tasks.closes(1, 20)
    tasks.restart(compact=compact)
    assert tasks.published == []
    tasks.closes(1, 30)
    tasks.restart(compact=compact)
    assert tasks.published == []
    tasks.closes(1, 40)
    tasks.restart(compact=compact)
    assert tasks.published == [(0, 40, 5)]


def test_what_is_published_leaves_nothing_behind() -> None:
    tasks = Tasks()
    tasks.sees(0, 0, 30)
    tasks.sees(1, 9, 18, 27)
    for minute in (10, 20, 30, 40, 50):
        for task in (0, 1):
            tasks.closes(task, minute)
    for state in map(tasks._state, (0, 1)):
        assert len(state.closings[SESSIONS.name]) == len(state.open_rows[SESSIONS.name]) == 0
        assert not state.telling


@pytest.mark.parametrize("most", [1, 2, 5])
def test_steps_of_any_size_give_the_same(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {"TOLD_ROWS": open_rows, "OVERTAKEN_ROWS": open_rows, "CLOSED_ROWS": closing, "FINALS": merging}
    for name, module in steps.items():
        monkeypatch.setattr(module, name, most)
    tasks, hubs = Tasks(replace(SESSIONS, grace_seconds=3600, groups=(Group("hub", "hub"),))), range(1, 9)
    for hub in hubs:
        tasks.sees(0, 0, 40, hub=hub)
        tasks.sees(1, 8, 17, 19, hub=hub)
    for minute in (20, 30, 100):
        for task in (0, 1):
            tasks.closes(task, minute)
    assert tasks.published == sorted([(0, 29, 4), (40, 50, 1)] * len(hubs))


def test_a_correction_of_a_session_that_publishes_a_final_is_refused() -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.closes(0, 100)
    ((key, cells),) = tasks.cells(SESSIONS).items()
    document = {"run": "r", "view": SESSIONS.name, "version": SESSIONS.version, **key._asdict(), "expected": cells}
    assert tasks.correct({**document, "row": None})["why"] == "merging"
    tasks.closes(1, 100)
    assert tasks.published == [(0, 10, 1)]


def test_a_change_of_a_row_that_merges_is_quarantined_by_the_closing_stage() -> None:
    """No task tells of one."""
    tasks = Tasks(partitions=1)
    row_key = encode_keys(SESSIONS, np.array([0]), [["dhl"]])[0]
    value = encode_replaced(Replaced(None, SESSIONS.neutral))
    tasks._produce(names.closing_topic("test", "parcels"), 0, [SentRecord(as_final_key(row_key), value)])
    assert [one.reason for one in tasks.quarantined] == ["not_revisable"]


def test_an_open_row_with_a_mark_that_no_task_can_have_holds_nothing() -> None:
    for when in ("sent", "restored"):
        tasks = Tasks(partitions=1)
        tasks.sees(0, 0)
        row_key = encode_keys(SESSIONS, np.array([0]), [["dhl"]])[0]
        record = SentRecord(as_open_key(row_key, 0), encode_open(1 << 62))
        topic = names.closing_topic if when == "sent" else names.changelog_topic
        tasks._produce(topic("test", "parcels"), 0, [record])
        tasks.restart()
        tasks.closes(0, 100)
        assert tasks.published == [(0, 10, 1)]


def test_finals_of_sessions_are_not_revised() -> None:
    with pytest.raises(DefinitionError, match="revisable_seconds: finals of rows that merge"):
        replace(SESSIONS, revisable_seconds=1)


LIGHT = replace(SESSIONS, measures=SESSIONS.measures[:1])


def test_a_view_that_comes_back_holds_what_it_held_and_tells_anew_what_is_open() -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.sees(1, 9, 18)
    tasks.closes(0, 100)
    tasks.closes(1, 20)
    for views in ([LIGHT], [SESSIONS]):
        tasks.restart(views=views)
    assert tasks.published == []
    tasks.sees(1, 27)
    tasks.closes(1, 30)
    assert tasks.published == []
    tasks.closes(1, 100)
    assert tasks.published == [(0, 37, 4)]


def test_a_view_that_comes_back_has_the_session_that_was_open_though_its_records_are_gone_from_the_log() -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.sees(1, 9, 18)
    tasks.closes(0, 100)
    tasks.closes(1, 20)
    tasks._broker.log(AIR, 1).delete_below(2)
    for views in ([LIGHT], [SESSIONS]):
        tasks.restart(views=views)
    assert [one for one in tasks.finals(SESSIONS) if one["version"] == SESSIONS.version] == []
    tasks.closes(1, 30)
    (final,) = (one for one in tasks.finals(SESSIONS) if one["version"] == SESSIONS.version)
    assert in_minutes(final) == (0, 28, 3)


def test_a_larger_grace_opens_no_session_that_was_closed() -> None:
    tasks, longer = Tasks(), replace(SESSIONS, grace_seconds=3600)
    tasks.sees(0, 0)
    for task in (0, 1):
        tasks.closes(task, 10)
    tasks.restart(views=[longer])
    tasks.view = longer
    tasks.sees(0, 10, 11, 20)
    assert [late.offset for late in tasks.late] == [1]
    for task in (0, 1):
        tasks.closes(task, 100)
    assert tasks.published == [(0, 10, 1), (11, 30, 2)]

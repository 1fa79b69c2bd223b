"""What the tasks of `tests.support.apps.every_stage` must have done, told by the naive rules from the topics alone."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx
import orjson

from app.base import names
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder
from app.codecs.stored.export import read_export
from app.domain.advance import Advance
from app.domain.corrections.correction import Correction, why_not_applied
from app.domain.marker import LIVE, Marker
from app.domain.oracle.alert_fold import ToldAlert, fold_alert
from app.domain.oracle.join_fold import Joined, fold_join
from app.domain.oracle.view_fold import Folded, final_rows, fold
from app.domain.pairs.alert import AT_OFFSET, END_ORIGIN, START_ORIGIN, TOLD_AT
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Record, TopicPartition
from app.domain.rows import Cells, RowKey, end_of
from app.domain.view import View
from tests.support.apps.every_stage import DEMAND, MEETING, PUBLISHED, STAGED, WAITING, definition
from tests.support.expiry import kept
from tests.support.flow import exported, in_changelog
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_ledgers, log_ends_of, markers, messages
from tests.support.truth import cluster_of, records_of


@dataclass
class Truth:
    """The logs as they are now, and what follows from them."""

    settings: Settings
    more: bool = True
    folds: dict[str, Folded] = field(default_factory=dict)

    @cached_property
    def views(self) -> Sequence[View]:
        return definition(self.settings, more=self.more).views

    @cached_property
    def records(self) -> list[Record]:
        return records_of(self.settings, STAGED)

    @cached_property
    def advances(self) -> list[Advance]:
        told = messages(self.settings, names.advances_topic(self.settings.app_id))
        return [Advance(**orjson.loads(m.value())) for m in told]

    @cached_property
    def markers(self) -> dict[int, Marker]:
        """The last one of each task."""
        return {p: markers(self.settings, p, STAGED)[-1] for p in range(self.settings.topics.partitions)}

    def rows(self, view: View) -> dict[tuple[int, RowKey], Cells]:
        """Rows of all tasks, expired ones left out, corrections applied."""
        return kept(view, self._all_rows(view), self.markers)

    @cached_property
    def corrections(self) -> list[tuple[int, Correction]]:
        """Those that were applied, in order; each is checked against the rules as it is folded."""
        told = (orjson.loads(m.value()) for m in messages(self.settings, names.corrected_topic(self.settings.app_id)))
        return [(t["partition"], _correction(t["correction"])) for t in told if t["outcome"] == "applied"]

    def finals(self, view: View) -> dict[RowKey, Cells]:
        """The last final of each row that every task has closed: merged over tasks, corrections applied."""
        closed_to = [marker.views[view.name].closed_to_us for marker in self.markers.values()]
        if None in closed_to:
            return {}
        rows: dict[int, dict[RowKey, Cells]] = defaultdict(dict)
        for (partition, key), cells in self._all_rows(view).items():
            rows[partition][key] = cells
        return final_rows(view, rows.values(), min(to for to in closed_to if to is not None))

    @cached_property
    def joined(self) -> list[Joined]:
        """The join's result in each task."""
        return [
            fold_join(
                MEETING, [r for r in self.records if r.partition == p], [a for a in self.advances if a.partition == p]
            )
            for p in range(self.settings.topics.partitions)
        ]

    @cached_property
    def told(self) -> list[ToldAlert]:
        """What the alert must have told in each task."""
        tasks = range(self.settings.topics.partitions)
        inputs = [
            ([r for r in self.records if r.partition == p], [a for a in self.advances if a.partition == p])
            for p in tasks
        ]
        return [told for records, advances in inputs for told in fold_alert(WAITING, records, advances).told]

    def _all_rows(self, view: View) -> dict[tuple[int, RowKey], Cells]:
        folded = self._folded(view)
        rows = {(p, key): cells for p, of_task in folded.rows.items() for key, cells in of_task.items()}
        for partition, correction in self.corrections:
            if correction.view == view.name:
                self._correct(view, partition, correction, rows)
        return rows

    def _folded(self, view: View) -> Folded:
        if view.name not in self.folds:
            self.folds[view.name] = fold(view, self.records, self.advances)
        return self.folds[view.name]

    def _correct(
        self, view: View, partition: int, correction: Correction, rows: dict[tuple[int, RowKey], Cells]
    ) -> None:
        stored = rows.get((partition, correction.key))
        watermark_us = self.markers[partition].lowest_watermark_us(topic.name for topic in STAGED.topics)
        closed_us = end_of(view, correction.key, correction.row or correction.expected or view.neutral) + view.grace_us
        assert closed_us <= watermark_us
        assert why_not_applied(view, correction, stored, closed_us, None) is None  # its retention may be over by now
        if correction.row is None:
            rows.pop((partition, correction.key), None)
        else:
            rows[partition, correction.key] = correction.row


def is_quiet(settings: Settings, started: list[Worker], *, more: bool) -> bool:
    """Whether the tasks have read all their inputs, their own closings among them, and every view is live."""
    tasks = definition(settings, more=more)
    ends = log_ends_of(settings, tasks.topics)
    for partition in range(settings.topics.partitions):
        marker = _marker(tasks.views[0], started, partition)
        if marker is None or any(marker.inputs[t].next_offset < end for (t, p), end in ends.items() if p == partition):
            return False
        if any(marker.views[view.name].state != LIVE for view in tasks.views):
            return False
    return True


def _marker(view: View, started: list[Worker], partition: int) -> Marker | None:
    """What the task's owner says of its inputs; None while nobody does."""
    for worker in started:
        with contextlib.suppress(httpx.HTTPError):
            answer = worker.get(f"/v1/views/{view.name}/export", partition=partition)
            if answer.is_success:
                return read_export(answer.content)[0].marker
    return None


def assert_every_stage_exact(settings: Settings, started: list[Worker], *, more: bool) -> None:
    """Rows, finals, joined and unmatched halves, ledgers: all that the naive rules say, nothing twice.

    Judged as they stood while nothing moved: what is idle is advanced seconds after all has been read.
    """
    wait_for(lambda: _is_exact_while_still(settings, started, more=more), "all stands still for a look", started)


def _is_exact_while_still(settings: Settings, started: list[Worker], *, more: bool) -> bool:
    """False if something was written meanwhile, by transactions that are open still among them."""
    before = _written(settings)
    try:
        _assert_exact(settings, started, more=more)
    except AssertionError:
        if _written(settings) == before:
            raise
        return False
    return _written(settings) == before


def _written(settings: Settings) -> Mapping[TopicPartition, int]:
    """Where the changelog ends: every transaction writes to it before it shows anywhere."""
    topic = names.changelog_topic(settings.app_id, STAGED.name)
    places = [TopicPartition(topic, p) for p in range(settings.topics.partitions)]
    return cluster_of(settings.kafka).log_ends(places, committed=False)


def _assert_exact(settings: Settings, started: list[Worker], *, more: bool) -> None:
    truth = Truth(settings, more)
    stored = in_changelog(settings, truth.views)
    for view in truth.views:
        expected = truth.rows(view)
        assert stored[view.name] == expected, view.name
        assert exported(view, started, settings.topics.partitions) == expected, view.name
    for view in PUBLISHED:
        assert _finals(settings, view) == truth.finals(view), view.name
    alone = [(origin, None) for joined in truth.joined for origin in joined.unmatched[Side.LEFT]]
    pairs = [(t[LEFT_ORIGIN], t[RIGHT_ORIGIN]) for t in _sent_on(settings, MEETING)]
    assert sorted(pairs, key=str) == sorted([*alone, *(p for joined in truth.joined for p in joined.pairs)], key=str)
    alerts = _sent_on(settings, WAITING)
    told = [ToldAlert(t[START_ORIGIN], t[END_ORIGIN], t[AT_OFFSET], t[TOLD_AT]) for t in alerts]
    assert sorted(told) == sorted(truth.told)
    unmatched = sum(len(halves) for joined in truth.joined for halves in joined.unmatched.values())
    assert len(messages(settings, names.unmatched_topic(settings.app_id))) == unmatched
    for marker in truth.markers.values():
        assert_ledgers(marker)


def _finals(settings: Settings, view: View) -> dict[RowKey, Cells]:
    """The last revision of each; every one is there once."""
    found: dict[RowKey, Cells] = {}
    revisions: dict[RowKey, list[int]] = defaultdict(list)
    for message in messages(settings, names.finals_topic(view.name)):
        told = orjson.loads(message.value())
        key = RowKey(told["window_start_us"], tuple(told[group.name] for group in view.groups))
        revisions[key].append(told["revision"])
        assert revisions[key] == list(range(len(revisions[key]))), f"published twice, or one left out: {key}"
        found[key] = tuple(told["cells"])
    return found


def _sent_on(settings: Settings, of: Pairing) -> list[dict[str, Any]]:
    """The committed records of a join's or alert's output."""
    schema_id = Registry(settings).register(f"{of.output.name}-value", record_schema(of.source))
    schema = WriterSchema(schema_id, orjson.dumps(record_schema(of.source)).decode())
    strict = StrictDecoder(of.source.columns)
    told = [strict.decode(m.value(), {schema_id: schema}) for m in messages(settings, of.output.name)]
    assert all(isinstance(values, dict) for values in told)
    return [values for values in told if isinstance(values, dict)]


def _correction(told: dict[str, Any]) -> Correction:
    key = RowKey(told["window_start_us"], tuple(told["group"]))
    expected, row = (None if told[side] is None else tuple(told[side]) for side in ("expected", "row"))
    return Correction(told["run"], told["view"], told["version"], key, expected, row)


def closed_row(settings: Settings) -> tuple[int, RowKey, Cells]:
    """Some row of the panes that no record can change any more."""
    truth = Truth(settings, more=False)
    for (partition, key), cells in sorted(truth.rows(DEMAND).items(), key=repr):
        lowest_us = truth.markers[partition].lowest_watermark_us(topic.name for topic in STAGED.topics)
        if end_of(DEMAND, key, cells) + DEMAND.grace_us <= lowest_us:
            return partition, key, cells
    raise AssertionError("no pane is closed yet")

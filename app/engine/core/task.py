"""The core of a task, without I/O: batches go in, transactions come out, commits are told.

    core = TaskCore(definition, state)
    transaction = core.plan(core.read(batches, schemas))    # built aside; the state is untouched
    ... write it in one Kafka transaction ...
    core.commit(transaction, marker_offset)                 # now queries see it

Between batches the core may have something of its own to do: windows to close, rows to expire, halves that leave.
`keep_up` gives it in bounded steps, as transactions like any other; `build` reads again what a new view missed.

A failed transaction is simply dropped; so is the whole core after a fence, for then the log may hold more
than this state does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from app.codecs.avro.schema import Schemas
from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.marker import LIVE, InputPosition
from app.domain.records import Reason
from app.engine.core.advances import LogEnds, advance_output, are_due, ask_for_log_ends, take_requests
from app.engine.core.batch import Batch, Transaction
from app.engine.core.building import Stretch, build, build_progress, next_stretch
from app.engine.core.clearing import clear
from app.engine.core.definition import Role, TaskDefinition
from app.engine.core.draft import Draft
from app.engine.core.pairs import joining, watching
from app.engine.core.records.branching import branch_batch
from app.engine.core.records.reading import Read, UsableRecords, passed, read_batch
from app.engine.core.records.refusals import late_output, quarantine
from app.engine.core.records.usable import Usable
from app.engine.core.results.closing import close_windows
from app.engine.core.results.corrections import take_corrections
from app.engine.core.results.gathering import take_closings
from app.engine.core.results.merging import publish_finals
from app.engine.core.results.open_rows import forget_overtaken
from app.engine.core.results.revising import forget_finals
from app.engine.core.task_state import TaskState
from app.engine.core.views.expiry import expire_rows
from app.engine.core.views.folding import LateFor, UsableBatch, fold_views


class TaskCore:
    """One task: `state` is what is committed, `log_ends` what was last told of the logs that it reads."""

    def __init__(self, definition: TaskDefinition, state: TaskState) -> None:
        self.definition = definition
        self.state = state
        self.log_ends = LogEnds()

    def read(self, batches: Iterable[Batch], schemas: Schemas) -> list[Read]:
        """What of the batches is new, decoded and judged.

        `schemas` has an entry for every schema id in them. StateError if a batch does not follow the position:
        offsets in between would be lost.
        """
        position_in = self.state.marker.position_in
        found = (read_batch(self.definition, batch, position_in(batch.topic), schemas) for batch in batches)
        return [read for read in found if read is not None]

    def plan(self, reads: Sequence[Read]) -> Transaction | None:
        """What the batches do in one transaction; None if there is nothing new.

        More than one only of `definition.joint_topics`, and of each topic one. StateError if the task has moved
        since they were read.
        """
        if not reads:
            return None
        draft = Draft(self.definition, self.state)
        by_source = dict[str, list[tuple[Read, UsableRecords]]]()
        for read in reads:
            self._refuse_moved(read)
            if read.records is None:
                self._take(draft, read.batch)
            else:
                draft.marker = draft.marker.with_schemas(read.schemas)
                by_source.setdefault(read.records.source.name, []).append((read, read.records))
        for some in by_source.values():
            self._take_records(draft, some)
        return draft.finish()

    def is_due(self, batch: Batch) -> bool:
        """Whether the batch may be planned now; a request to advance may have to wait for records before it."""
        if batch.topic != self.definition.advance_requests:
            return True
        return are_due(self.definition, self.state.marker, batch, self.log_ends)

    def wants_log_ends(self, batch: Batch) -> bool:
        """Whether newer `log_ends` must say of a request to advance if the offset that it waits for can be reached."""
        if batch.topic != self.definition.advance_requests:
            return False
        return ask_for_log_ends(self.definition, self.state.marker, batch, self.log_ends)

    def keep_up(self) -> Transaction | None:
        """The next step of what follows from the watermarks alone; None if nothing is to be done now."""
        draft = Draft(self.definition, self.state)
        for join in self.definition.joins:
            joining.keep_up(draft, join)
        for alert in self.definition.alerts:
            watching.keep_up(draft, alert)
        for view in self.definition.views:
            clear(draft, view)
            if self.definition.is_closed_by_merging(view):
                close_windows(draft, view)
                publish_finals(draft, view)
                forget_overtaken(draft, view)  # behind what still counted on them: it is looked for again
                forget_finals(draft, view)
            expire_rows(draft, view)
        return None if draft.is_empty else draft.finish()

    def advance(self, topic: str, watermark_us: int) -> Transaction | None:
        """Raise a watermark at the present position, because the topic-partition is idle (rule 8); None if it is
        there already."""
        position = self.state.marker.position_in(topic)
        if watermark_us <= position.watermark_us:
            return None
        draft = Draft(self.definition, self.state)
        draft.move_input(topic, replace(position, watermark_us=watermark_us))
        advance = Advance(topic, self.state.partition, position.next_offset, watermark_us)
        draft.outputs.append(advance_output(draft.application, advance))
        return draft.finish()

    def to_build(self) -> Stretch | None:
        """What a view that is being built must read again next; None if none is."""
        return next_stretch(self.definition.views, self.state.marker)

    def build_progress(self) -> dict[str, tuple[int, int]]:
        """Of each view that is being built, how many offsets it has read again, and how many there are."""
        return build_progress(self.definition.views, self.state.marker)

    def build(self, batch: Batch, advances: Sequence[Advance], schemas: Schemas) -> Transaction:
        """What was read again, for the views that are being built; see `app.engine.core.building`."""
        draft = Draft(self.definition, self.state)
        build(draft, batch, advances, schemas)
        return draft.finish()

    def commit(self, transaction: Transaction, marker_offset: int) -> None:
        """Make a committed transaction visible; `marker_offset` is where its marker stands in the changelog."""
        for effect in transaction.effects:
            effect.swap_in(self.state)
        self.state.pack()
        self.state.marker = transaction.marker
        self.state.marker_offset = marker_offset
        self.state.is_ahead = False

    def _refuse_moved(self, read: Read) -> None:
        batch, now = read.batch, self.state.marker.inputs[read.batch.topic]
        if now != read.position:
            raise StateError(
                f"{batch.topic}-{batch.partition}: read at offset {read.position.next_offset} (watermark "
                f"{read.position.watermark_us}), but the task stands at {now.next_offset} ({now.watermark_us})"
            )

    def _take(self, draft: Draft, batch: Batch) -> None:
        position = self.state.marker.inputs[batch.topic]
        match self.definition.roles[batch.topic]:
            case Role.ADVANCES:
                self._take_advances(draft, batch, position)
            case Role.CORRECTIONS:
                unreadable = take_corrections(draft, batch)
                quarantine(draft, batch, [(i, Reason.UNDECODABLE) for i in unreadable])
                draft.move_input(batch.topic, passed(batch, position, quarantined=len(unreadable)))
            case Role.CLOSINGS:
                draft.move_input(batch.topic, passed(batch, position, quarantined=take_closings(draft, batch)))
            case Role.RECORDS:
                raise StateError(f"{batch.topic}: records are taken with all that was read of their source")
            case role:
                assert_never(role)

    def _take_records(self, draft: Draft, reads: Sequence[tuple[Read, UsableRecords]]) -> None:
        """Batches of one source."""
        for read, (_, usable, refused) in reads:
            position = read.position
            watermark_us = _top(usable, position)
            moved = passed(read.batch, position, quarantined=len(refused), watermark_us=watermark_us)
            draft.move_input(read.batch.topic, moved)
        source = reads[0][1].source
        views, branches = self.definition.views_over(source), self.definition.branches_over(source)
        live = [view for view in views if draft.marker.views[view.name].state == LIVE]
        parts = [UsableBatch(read.batch, records.usable) for read, records in reads]
        for part, (_, records), late_for in zip(parts, reads, fold_views(draft, live, parts), strict=True):
            quarantine(draft, part.batch, records.refused)
            self._pair(draft, part, late_for)
            branch_batch(draft, branches, *part)
            _tell_late(draft, part.batch, late_for)

    def _pair(self, draft: Draft, part: UsableBatch, late_for: LateFor) -> None:
        topic = part.batch.topic
        late = [joining.join_batch(draft, j, *part) for j in self.definition.joins if topic in j.topics]
        late += [watching.watch_batch(draft, a, *part) for a in self.definition.alerts if a.topic == topic]
        for index, names in (told for one in late for told in one.items()):
            late_for.setdefault(index, []).extend(names)

    def _take_advances(self, draft: Draft, batch: Batch, position: InputPosition) -> None:
        taken = take_requests(self.definition, draft.marker, batch, self.log_ends)
        quarantine(draft, batch, taken.refused)
        draft.outputs += taken.outputs
        draft.move_input(batch.topic, passed(batch, position, quarantined=len(taken.refused)))
        for topic, raised in taken.inputs.items():
            draft.move_input(topic, raised)


def _tell_late(draft: Draft, batch: Batch, late_for: LateFor) -> None:
    draft.outputs += [late_output(draft.definition, batch, i, late) for i, late in sorted(late_for.items())]


def _top(usable: Usable, position: InputPosition) -> int:
    return int(usable.watermarks_us[-1]) if len(usable) else position.watermark_us

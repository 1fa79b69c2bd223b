"""Going on without records that the log lost before they were read: the gap becomes a part of the ledger (rule 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.domain.marker import InputPosition, Marker, OffsetRange
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.stored_marker import marker_transaction


def gaps_of(marker: Marker, begin: Mapping[str, InputPosition]) -> dict[str, OffsetRange]:
    """What each input's log has lost behind the marker's position; `begin` names where the logs begin now.

    A topic that was created anew has lost nothing: it holds other records.
    """
    return {
        topic: OffsetRange(at.next_offset, begin[topic].start_offset)
        for topic, at in sorted(marker.inputs.items())
        if topic in begin and begin[topic].topic_id == at.topic_id and begin[topic].start_offset > at.next_offset
    }


def accept(definition: TaskDefinition, marker: Marker, gaps: Mapping[str, OffsetRange]) -> Transaction:
    """The task goes on behind the gaps, which its marker tells of from here on.

    A branch begins anew: it has not sent what was lost.
    """
    inputs = marker.inputs | {topic: _behind(marker.inputs[topic], gap) for topic, gap in gaps.items()}
    branches = {name: at for name, at in marker.branches.items() if not at.start.keys() & gaps.keys()}
    return marker_transaction(definition, replace(marker, inputs=inputs, branches=branches))


def _behind(position: InputPosition, gap: OffsetRange) -> InputPosition:
    return replace(position, next_offset=gap.to_offset, lost=(*position.lost, gap))

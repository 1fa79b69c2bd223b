"""A marker that is written by itself, by whoever mends a task that no worker holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.marker import Marker
from app.engine.core.batch import Changes, Output, Transaction
from app.engine.core.definition import TaskDefinition


def marker_transaction(definition: TaskDefinition, marker: Marker, outputs: Sequence[Output] = ()) -> Transaction:
    """The marker as the task's next one, and what goes to other topics with it."""
    following = replace(marker, sequence=marker.sequence + 1)
    changes = Changes.of([(marker_key(definition.number), encode_marker(following))])
    return Transaction(following, changes, outputs, [])

"""Rows on their way to the closing stage: each to the partition of its key, or of its group (docs/formats.md)."""

from __future__ import annotations

import numpy as np

from app.codecs.blobs import Blobs
from app.codecs.stored.closing_columns import partitions_of
from app.domain.view import View
from app.engine.core.batch import Changes, OutputColumns
from app.engine.core.draft import Draft


def send_closings(draft: Draft, view: View, row_keys: Blobs, closings: Changes, behind: Changes) -> None:
    """Send what is told of rows to where they belong, and what is `behind` it to every partition."""
    topic, count = draft.definition.closings, draft.marker.closing_partitions
    everywhere = len(closings) + np.arange(len(behind))
    every, places = Changes.joined([closings, behind]), partitions_of(view, row_keys, count)
    for partition in range(count):
        which = np.concatenate([np.flatnonzero(places == partition), everywhere])
        draft.send(OutputColumns(topic, partition, every.keys.at(which), every.values.at(which)))

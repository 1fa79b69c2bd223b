"""Count and fingerprint of what a view applied, per block of 65,536 offsets (rule 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from app.codecs.stored.changelog import BlockKey, encode_block
from app.domain.fingerprint import BLOCK_SIZE, signed
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.cells.grouping import APPLIED
from app.engine.core.records.usable import Usable
from app.engine.core.task_state import Total


def changed_blocks(
    view: View, blocks: Mapping[bytes, Total], batch: Batch, usable: Usable, fates: npt.NDArray[np.int8]
) -> Iterator[tuple[bytes, bytes, Total]]:
    """Key, value and new total of each block that the batch adds to; `blocks` are the totals so far, by key."""
    applied = fates == APPLIED
    offsets, mixes = batch.offsets[usable.index[applied]], usable.mixes[applied]
    number = view.source.topic(batch.topic).number
    at = 0
    while at < len(offsets):  # they ascend, so that a block is a slice; nearly always it is one block
        block = int(offsets[at]) // BLOCK_SIZE
        end = int(np.searchsorted(offsets, (block + 1) * BLOCK_SIZE))
        name = BlockKey(view.number, view.version, number, block)
        key, _ = encode_block(name, 0, 0)
        count, total = blocks.get(key, (0, 0))
        now = count + end - at, signed(total + int(mixes[at:end].sum()))
        yield key, encode_block(name, *now)[1], now
        at = end

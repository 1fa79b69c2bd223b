"""Count and fingerprint of what a view applied, per block of 65,536 offsets (rule 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from app.codecs.changelog import BLOCK_SIZE, BlockKey, encode_block
from app.domain.fingerprint import signed
from app.domain.view import View
from app.engine import aggregate as agg
from app.engine.batch import Batch

Total = tuple[int, int]


def changed_blocks(
    view: View, blocks: Mapping[bytes, Total], batch: Batch, usable: pl.DataFrame, fates: npt.NDArray[np.int8]
) -> Iterator[tuple[bytes, bytes, Total]]:
    """Key, value and new total of each block that the batch adds to; `blocks` are the totals so far, by key."""
    applied = fates == agg.APPLIED
    offsets = batch.offsets[usable[agg.INDEX].to_numpy()[applied]]
    mixes = usable[agg.MIX].to_numpy()[applied]
    number = view.source.topic(batch.topic).number
    for block in np.unique(offsets // BLOCK_SIZE):
        inside = offsets // BLOCK_SIZE == block
        name = BlockKey(view.number, view.version, number, int(block))
        key, _ = encode_block(name, 0, 0)
        count, total = blocks.get(key, (0, 0))
        now = count + int(inside.sum()), signed(total + int(mixes[inside].sum()))
        yield key, encode_block(name, *now)[1], now

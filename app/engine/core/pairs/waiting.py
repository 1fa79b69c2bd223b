"""Records of a batch as halves that wait: with their bytes as they came, or the beginning of a large one."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.batches.carrying import WAITING_BYTES, carried
from app.codecs.batches.record_headers import header_counts
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import NO_HEADERS, Halves, headers_as_json, waiting_values
from app.codecs.weaving import chosen, same, spread
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.engine.core.batch import Batch
from app.engine.core.pairs.arrivals import carried_columns
from app.engine.core.pairs.walking import Walk
from app.engine.core.records.usable import Usable

_SURELY_WHOLE_BYTES = WAITING_BYTES // 2
"""Of key and value together, without headers."""


def waiting_columns(of: Pairing, usable: Usable, sides: Int64s, rows: Int64s) -> Blobs:
    """What these records of a batch, on these sides, carry into what is told of them."""
    parts = list[Blobs]()
    for number, side in enumerate(Side):
        mine = np.flatnonzero(sides == number)
        some = carried_columns(of, side, usable, rows[mine]) if len(mine) else Blobs.nulls(0)
        parts.append(spread(some, mine, len(rows)))
    return chosen(sides, parts)


def waiting_halves(of: Pairing, batch: Batch, usable: Usable, walk: Walk) -> Blobs:
    """Values of the halves that count, by their rows in the walk; null for the others."""
    rows, came = walk.applied, walk.arrivals
    at = usable.index[rows]
    halves = Halves(
        waits=np.ones(len(rows), np.bool_),
        at_us=came.at_us[rows],
        ids=came.ids.at(rows),
        timestamps_ms=batch.timestamps_ms[at],
        columns=waiting_columns(of, usable, came.sides[rows], rows),
        **_carried(batch, at),
    )
    return spread(waiting_values(halves), rows, len(came))


def _carried(batch: Batch, at: Int64s) -> dict[str, Blobs]:
    """Keys, values and headers; those that have headers or are large are looked at one by one."""
    keys, values = Blobs.of(batch.keys).at(at), Blobs.of(batch.values).at(at)
    headers = same(NO_HEADERS, len(at))
    large = np.maximum(keys.lengths, 0) + np.maximum(values.lengths, 0) > _SURELY_WHOLE_BYTES
    odd = np.flatnonzero(large | (header_counts(batch.headers)[at] > 0))
    if len(odd):
        came_as = ((batch.keys[i], batch.values[i], batch.headers[i]) for i in at[odd].tolist())
        records = [carried(*record, whole_bytes=WAITING_BYTES) for record in came_as]
        which = np.zeros(len(at), np.int64)
        which[odd] = 1
        keys, values, headers = (
            chosen(which, [plain, spread(Blobs.of(held), odd, len(at))])
            for plain, held in (
                (keys, [record.key for record in records]),
                (values, [record.value for record in records]),
                (headers, [headers_as_json(record.headers) for record in records]),
            )
        )
    return {"keys": keys, "values": values, "headers": headers}

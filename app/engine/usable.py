"""What of a batch can be used: decoded, within bounds, stamped sensibly; and why the rest cannot."""

from __future__ import annotations

import numpy as np
import polars as pl

from app.codecs.avro_decode import Schemas, decode_block
from app.domain.source import Source
from app.engine import aggregate as agg
from app.engine import fingerprint
from app.engine.batch import Batch


def usable_records(
    source: Source, batch: Batch, watermark_us: int, schemas: Schemas
) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """The usable records as a frame with all that views need, and (index in the batch, reason) of the others.

    The frame is in offset order; its WATERMARK is the running one, beginning with `watermark_us`.
    """
    decoded = decode_block(batch.values, schemas, source.columns)
    refused: list[tuple[int, str]] = list(decoded.refused)
    frame = decoded.frame.with_columns(
        pl.Series(agg.INDEX, decoded.kept.astype(np.int64)),
        pl.Series(agg.TIMESTAMP_MS, batch.timestamps_ms[decoded.kept]),
    ).with_columns(agg.derive(source))
    reasons = agg.refusals(source, frame)
    if reasons is not None:
        bad = reasons.is_not_null()
        refused += zip(frame[agg.INDEX].filter(bad).to_list(), reasons.filter(bad).to_list(), strict=True)
        frame = frame.filter(~bad)
    return _with_origins(source, batch, frame, watermark_us), sorted(refused)


def _with_origins(source: Source, batch: Batch, frame: pl.DataFrame, watermark_us: int) -> pl.DataFrame:
    number = source.topic(batch.topic).number
    origins = fingerprint.origins(number, batch.partition, batch.offsets[frame[agg.INDEX].to_numpy()])
    highest = pl.max_horizontal(pl.col(source.reported_at).cum_max(), pl.lit(watermark_us, pl.Int64))
    return frame.with_columns(
        pl.Series(agg.ORIGIN, origins), pl.Series(agg.MIX, fingerprint.mix(origins)), highest.alias(agg.WATERMARK)
    )

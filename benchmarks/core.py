"""Cost per ride of the task core alone: decode, group, merge, encode; no broker. Prints JSON.

python benchmarks/core.py --rides 400000 --batch 20000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator

import numpy as np
import polars as pl

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.encode import encode_frame
from app.codecs.avro.schema import WriterSchema
from app.codecs.blobs import Blobs
from app.domain.marker import InputPosition
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS, RIDES, avro_schema
from app.rides.views import VIEWS

SCHEMA = WriterSchema(1, json.dumps(avro_schema()))
TOPIC = RIDES.topics[0].name


def frames(rides: int, size: int, dirt: Dirt | None = None) -> Iterator[pl.DataFrame]:
    """Generated rides, so many at a time."""
    generator = Generator(seed=1, dirt=dirt or Dirt.real())
    for first in range(0, rides, size):
        yield generator.rides(first, size)


def batches(rides: int, size: int, dirt: Dirt | None = None) -> Iterator[Batch]:
    """The same rides as one topic-partition would hold them."""
    for first, frame in zip(range(0, rides, size), frames(rides, size, dirt), strict=True):
        values = encode_frame(frame.select(c.name for c in RIDE_COLUMNS), avro_schema(), SCHEMA.id)
        yield Batch(
            topic=TOPIC,
            partition=0,
            base_offset=first,
            next_offset=first + size,
            offsets=np.arange(first, first + size),
            timestamps_ms=frame["clock_ms"].to_numpy(),
            keys=[b"1"] * size,
            values=Blobs.of(values),  # as a fetch gives them
            headers=[()] * size,
        )


def measure(rides: int, size: int) -> dict[str, float | int]:
    """Microseconds of processor time per ride, and the rows that came of it."""
    prepared = list(batches(rides, size))
    definition = TaskDefinition("bench", (RIDES,), VIEWS)
    inputs = {topic: InputPosition("", 0, 0) for topic in definition.topics}
    core = TaskCore(definition, new_state(definition, 0, inputs))
    schemas = {SCHEMA.id: SCHEMA}
    started, records = time.process_time(), 0
    for batch in prepared:
        transaction = core.plan(core.read([batch], schemas))
        assert transaction is not None
        core.commit(transaction, 0)
        records += len(transaction.changelog)
    whole = time.process_time() - started
    decoder = BlockDecoder(Layout(RIDES.columns))
    started = time.process_time()
    for batch in prepared:
        decoder.decode(Packed(batch.values), schemas).columns.frame()
    decoding = time.process_time() - started
    return {
        "rides": rides,
        "batch": size,
        "changelog_records": records,
        "microseconds_per_ride": round(whole / rides * 1e6, 3),
        "of_it_decoding": round(decoding / rides * 1e6, 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=400_000)
    parser.add_argument("--batch", type=int, default=20_000)
    arguments = parser.parse_args()
    pl.Config.set_verbose(False)
    print(json.dumps(measure(arguments.rides, arguments.batch)))

"""What unusable records cost the good ones beside them: rides per second through the task core, no broker.

python -m benchmarks.poison --report build/poison.json

Every kind of refusal takes its turn among the poison. Each batch is decoded, judged and folded; that all of the poison
goes to the quarantine, and nothing else, is checked. What is written there is made by whoever writes it: not timed.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import polars as pl

from app.base import names
from app.codecs.avro.encode import encode_frame
from app.codecs.avro.schema import WriterSchema
from app.codecs.blobs import Blobs
from app.domain.marker import InputPosition
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.rides.generator.dirt import Dirt
from app.rides.ride import RIDE_COLUMNS, RIDES, avro_schema
from app.rides.views import VIEWS
from benchmarks.core import SCHEMA, batches, frames

SHARES: Mapping[str, float] = {"clean": 0.0, "one_percent": 0.01, "twenty_percent": 0.2}
OTHER_ID, FOREIGN_ID, UNKNOWN_ID = 2, 3, 999
_FIELDS = avro_schema()["fields"]
SCHEMAS = {
    SCHEMA.id: SCHEMA,
    OTHER_ID: WriterSchema(OTHER_ID, json.dumps({**avro_schema(), "fields": _FIELDS[:-1]})),
    FOREIGN_ID: WriterSchema(FOREIGN_ID, '"string"'),
    **dict.fromkeys((0, UNKNOWN_ID, 2**32 - 1)),
}
_ENDLESS = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"""A text of 2**62 bytes."""


def _naming(schema_id: int) -> Callable[[bytes], bytes]:
    return lambda ride: b"\0" + schema_id.to_bytes(4, "big") + ride[5:]


IN_BYTES: Mapping[str, Callable[[bytes], bytes | None]] = {
    "null": lambda _: None,
    "empty": lambda _: b"",
    "one byte": lambda _: b"\0",
    "header only": lambda ride: ride[:5],
    "magic": lambda ride: b"\1" + ride[1:],
    "unknown schema": _naming(UNKNOWN_ID),
    "id that cannot be": _naming(2**32 - 1),
    "foreign schema": _naming(FOREIGN_ID),
    "another writer's schema": _naming(OTHER_ID),
    "truncated": lambda ride: ride[:-3],
    "cut in the middle": lambda ride: ride[: len(ride) // 2],
    "trailing": lambda ride: ride + b"xx",
    "forged length": lambda ride: ride[:5] + _ENDLESS + ride[6:],
    "junk": lambda ride: ride[:5] + ride[:4:-1],
}
"""What is done to a ride's bytes."""
IN_VALUES: Mapping[str, pl.Expr] = {
    "zone 0": pl.lit(0).alias("pickup_zone"),
    "zone 999": pl.lit(999).alias("pickup_zone"),
    "year 1970": pl.lit(1).alias("pickup_at_us"),
    "year 2098": pl.lit(4_050_000_000_000_000).alias("dropoff_at_us"),
    "large sum": pl.lit(10**15).alias("total_cents"),
}
"""What a ride says instead."""


def poisoned(rides: int, size: int, share: float) -> Iterator[tuple[Batch, int]]:
    """The batches of `benchmarks.core` with so many of their rides made unusable, and how many these are."""
    kinds, rng = cycle([*IN_BYTES, *IN_VALUES, "no timestamp"]), np.random.default_rng(1)
    for batch, frame in zip(batches(rides, size, Dirt.none()), frames(rides, size, Dirt.none()), strict=True):
        values, timestamps_ms = list(batch.values), batch.timestamps_ms.copy()
        chosen = np.sort(rng.choice(size, round(share * size), replace=False)).tolist()
        for row in chosen:
            kind = next(kinds)
            if kind in IN_BYTES:
                values[row] = IN_BYTES[kind](values[row] or b"")
            elif kind in IN_VALUES:
                (values[row],) = encode_frame(_changed(frame[row], IN_VALUES[kind]), avro_schema(), SCHEMA.id)
            else:
                timestamps_ms[row] = -1
        yield replace(batch, values=Blobs.of(values), timestamps_ms=timestamps_ms), len(chosen)


def _changed(ride: pl.DataFrame, to: pl.Expr) -> pl.DataFrame:
    return ride.select(column.name for column in RIDE_COLUMNS).with_columns(to)


def seconds_of(prepared: list[tuple[Batch, int]]) -> float:
    """Processor time of all batches through a new task."""
    definition = TaskDefinition("bench", (RIDES,), VIEWS)
    inputs = {topic: InputPosition("", 0, 0) for topic in definition.topics}
    core, seconds = TaskCore(definition, new_state(definition, 0, inputs)), 0.0
    for batch, count in prepared:
        fresh = replace(batch)  # nothing of it is worked out yet
        started = time.process_time()
        transaction = core.plan(core.read([fresh], SCHEMAS))
        assert transaction is not None
        core.commit(transaction, 0)
        seconds += time.process_time() - started
        quarantined = sum(output.topic == names.quarantine_topic("bench") for output in transaction.outputs)
        if quarantined != count:
            raise SystemExit(f"{quarantined} records are quarantined, not {count}")
    return seconds


def measure(rides: int, size: int, runs: int) -> dict[str, int]:
    """Rides per second by share of poison, the fastest of some runs, which take turns."""
    prepared = {name: list(poisoned(rides, size, share)) for name, share in SHARES.items()}
    seconds = {name: [seconds_of(each) for _ in range(runs)] for name, each in prepared.items()}
    return {name: round(rides / min(taken)) for name, taken in seconds.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=200_000)
    parser.add_argument("--batch", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--report", type=Path, default=Path("build/poison.json"))
    arguments = parser.parse_args()
    found = measure(arguments.rides, arguments.batch, arguments.runs)
    arguments.report.parent.mkdir(parents=True, exist_ok=True)
    arguments.report.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found))

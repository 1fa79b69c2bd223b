"""Quix Streams: one application, its RocksDB state with changelog, exactly-once or at-least-once.

build/bench-stream/quix/bin/python benchmarks/peers/quix.py JOB.json
"""

from __future__ import annotations

import sys

from fold import Fold, Job, signal
from quixstreams import Application, State, message_context

CHECKPOINT_SECONDS = 1.0


def main(path: str) -> None:
    job = Job.read(path)
    app = Application(
        broker_address=job.bootstrap_server,
        consumer_group=job.name,
        auto_offset_reset="earliest",
        state_dir=job.state_dir,
        processing_guarantee=job.variant["guarantee"],  # type: ignore[arg-type]
        commit_interval=CHECKPOINT_SECONDS,
        producer_extra_config={"linger.ms": 50, "compression.type": "zstd"},
        loglevel="WARNING",
    )
    fold, left = Fold(job), {partition for partition, end in job.ends.items() if end}

    begun = False

    def add(value: bytes, state: State) -> None:
        nonlocal begun
        if not begun:
            begun = True
            signal("first_record")
        at = message_context()
        if at.offset >= job.ends[at.partition]:
            return
        key, ride = fold.key(at.partition, value)
        if key is not None:
            name = key.hex()
            state.set_bytes(name, fold.row(state.get_bytes(name), ride, at.partition, at.offset))
        if at.offset + 1 == job.ends[at.partition]:
            left.discard(at.partition)
            if not left:
                app.stop()

    rides = app.dataframe(app.topic(job.topic, key_deserializer="bytes", value_deserializer="bytes"))
    rides.update(add, stateful=True)
    app.run()
    signal("last_commit")


if __name__ == "__main__":
    main(sys.argv[1])

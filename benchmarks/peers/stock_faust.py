"""Stock Faust (faust-streaming): one worker, a table in memory, a changelog record per ride.

python benchmarks/peers/stock_faust.py JOB.json
"""

from __future__ import annotations

import sys

import faust
import mode.loop
from fold import Fold, Job, signal

LINGER_SECONDS = 0.05
"""With Faust's own 0 each changelog record is a request."""
BUFFERED_RIDES = 100_000
"""With Faust's own 4,096 the fetcher sleeps for a second whenever all partitions are full."""
UNSENT_RECORDS = 10_000
"""With Faust's own 100 the agent waits for the producer all the time."""


def main(path: str) -> None:
    job = Job.read(path)
    mode.loop.use("uvloop")
    app = faust.App(
        job.name,
        broker=f"kafka://{job.bootstrap_server}",
        store="memory://",
        datadir=job.state_dir,
        topic_partitions=len(job.ends),
        topic_replication_factor=1,
        producer_linger=LINGER_SECONDS,
        producer_max_batch_size=512 * 1024,
        consumer_max_fetch_size=1 << 20,
        stream_buffer_maxsize=BUFFERED_RIDES,
        web_enabled=False,
    )
    app.producer.buffer.max_messages = UNSENT_RECORDS
    rides = app.topic(job.topic, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw")
    table = app.Table("rows", key_type=bytes, value_type=bytes)
    fold = Fold(job)

    @app.agent(rides)
    async def fold_rides(stream: faust.StreamT[bytes]) -> None:
        left = {partition for partition, end in job.ends.items() if end}
        begun = False
        async for event in stream.events():
            partition, offset = event.message.partition, event.message.offset
            if not begun:
                begun = True
                signal("first_record")
            if offset >= job.ends[partition]:
                continue
            key, ride = fold.key(partition, event.value)
            if key is not None:
                table[key] = fold.row(table.get(key), ride, partition, offset)
            if offset + 1 == job.ends[partition]:
                left.discard(partition)
            if not left:
                break
        await app.producer.flush()
        await app.consumer.commit()
        signal("last_commit")

    faust.Worker(app, loglevel="WARN").execute_from_commandline()


if __name__ == "__main__":
    main(sys.argv[1])

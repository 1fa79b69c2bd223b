"""Reading the topics that systems keep their rows in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.committed import committed
from app.base.setting_groups import KafkaSettings
from app.codecs.stored.changelog import MARKER, NULL_INTEGER, ROW, decode_rows, kind_of, view_of
from app.codecs.stored.row_keys import decode_keys
from app.domain.records import TopicPartition
from app.domain.view import WINDOW_NAME, View
from benchmarks.stream.recount import PARTITION
from benchmarks.stream.system import Kept

ZONE_NULL = -1
COMPACT_KEY = np.dtype([("window", ">i8"), ("zone", ">i4")])


def worker_rows(kafka: KafkaSettings, changelog: str, views: tuple[View, ...], partitions: int) -> Kept:
    """The worker's rows, from its changelog as docs/formats.md has it."""
    by_view = {(view.number, view.version): view for view in views}
    frames: dict[str, list[pl.DataFrame]] = {view.name: [] for view in views}
    written = 0
    for partition in range(partitions):
        last: dict[tuple[int, str], dict[bytes, bytes]] = {which: {} for which in by_view}
        for message in committed(librdkafka_options(kafka), changelog, partition):
            key = message.key()
            if key is not None and kind_of(key) == ROW:
                last[view_of(key)][key] = message.value() or b""
                written += 1
        for which, rows in last.items():
            frames[by_view[which].name].append(_worker_frame(by_view[which], partition, rows))
    return Kept({name: pl.concat(parts) for name, parts in frames.items()}, written)


def compact_rows(
    kafka: KafkaSettings,
    topic: str,
    view: View,
    partitions: int,
    key: Callable[[bytes], bytes] = lambda found: found,
) -> Kept:
    """The rows of a peer: key = window and zone, value = the cells, all big-endian, without tombstones.

    `key` takes that key out of what the peer has made of it.
    """
    frames, written = [], 0
    for partition in range(partitions):
        last: dict[bytes, bytes] = {}
        for message in committed(librdkafka_options(kafka), topic, partition):
            last[message.key() or b""] = message.value() or b""
            written += 1
        frames.append(compact_frame(view, partition, {key(found): row for found, row in last.items()}))
    return Kept({view.name: pl.concat(frames)}, written)


def compact_frame(view: View, partition: int, rows: dict[bytes, bytes]) -> pl.DataFrame:
    """One partition's rows as `recount` gives them."""
    keys = np.frombuffer(b"".join(rows), COMPACT_KEY)
    cells = np.frombuffer(b"".join(rows.values()), ">i8").reshape(len(rows), len(view.cells)).astype(np.int64)
    zones = pl.Series("zone", keys["zone"].astype(np.int64))
    return pl.DataFrame(
        {
            PARTITION: np.full(len(rows), partition, np.int64),
            WINDOW_NAME: keys["window"].astype(np.int64),
            "zone": zones.set(zones == ZONE_NULL, None),
            **{name: cells[:, at] for at, name in enumerate(view.cells)},
        }
    )


def last_marker(kafka: KafkaSettings, changelog: str, place: TopicPartition, end: int) -> bytes | None:
    """The value of the last marker below a partition's last stable offset; None if the log is empty."""
    for before in (2, 1_000):  # the last record is the commit itself, the marker stands right before it
        found = None
        for message in committed(librdkafka_options(kafka), changelog, place.partition, max(0, end - before)):
            key = message.key()
            if key is not None and kind_of(key) == MARKER:
                found = message.value()
        if found is not None:
            return bytes(found)
    return None


def _worker_frame(view: View, partition: int, rows: dict[bytes, bytes]) -> pl.DataFrame:
    windows, groups = decode_keys(view, list(rows))
    cells = decode_rows(list(rows.values()), len(view.cells))
    columns: dict[str, pl.Series] = {PARTITION: pl.Series(np.full(len(rows), partition, np.int64))}
    if view.window.ends:
        assert windows is not None
        columns[WINDOW_NAME] = pl.Series(windows)
    for group, values in zip(view.groups, groups, strict=True):
        if values.dtype == object:
            columns[group.name] = pl.Series(values.tolist(), dtype=pl.String)
        else:
            numbers = pl.Series(values)
            columns[group.name] = numbers.set(numbers == NULL_INTEGER, None)
    return pl.DataFrame(columns | {name: pl.Series(cells[:, at]) for at, name in enumerate(view.cells)})

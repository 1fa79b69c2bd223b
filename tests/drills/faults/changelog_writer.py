"""Rows written straight into a changelog, in layout 1 as docs/formats.md has it, by nothing of the engine's."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from confluent_kafka import Producer

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from tests.support.machine.asking import flush

KeyAndValue = tuple[bytes, bytes]


def layout_1_row(view: View, key: RowKey, cells: Cells) -> KeyAndValue:
    """Key and value of a row; frozen, as no layout is ever changed."""
    head = struct.pack(">BBH4sB", 1, 1, view.number, bytes.fromhex(view.version), view.window.ends)
    window = b"" if key.window_start_us is None else struct.pack(">q", key.window_start_us)
    groups = b"".join(map(_group, key.group))
    return head + window + groups, struct.pack(f"<BB{len(cells)}q", 1, 0, *cells)


def write(settings: Settings, changelog: str, records: Iterable[tuple[int, bytes, bytes]]) -> None:
    """Partition, key and value each, acknowledged when this returns."""
    refused: list[str] = []
    options = {"compression.type": "zstd", "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    producer = Producer(
        {
            **librdkafka_options(settings.kafka),
            **options,
            "on_delivery": lambda error, _: refused.append(str(error)) if error else None,
        }
    )
    for partition, key, value in records:
        try:
            producer.produce(changelog, value, key, partition)
        except BufferError:
            producer.flush()
            producer.produce(changelog, value, key, partition)
    flush(producer, 120)
    assert not refused, refused[0]


def _group(value: object) -> bytes:
    if isinstance(value, str):
        return struct.pack(">BH", 2, len(value.encode())) + value.encode()
    assert isinstance(value, int)
    return struct.pack(">Bq", 1, value)

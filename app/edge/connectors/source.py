"""What Kafka Connect is told so that the lines of a file come into a topic."""

from __future__ import annotations

import os
import re
from pathlib import Path

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
MOST_LINES = 100_000
"""Of a batch, which Connect holds whole: some 50 MB."""
TRANSFORMS = "org.apache.kafka.connect.transforms"


def file_source(file: Path, topic: str, name: str, copies: int) -> dict[str, str]:
    """The configuration of the connector `name`: a record `{"line", "file"}` per line, each once, in the file's order.

    It makes the topic, of one partition and so many copies, and goes on reading as the file grows.
    """
    return {
        "name": name,
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(file.absolute()),
        "topic": topic,
        # at the end of a file the lines behind a full batch are kept back until another is appended
        "batch.size": str(MOST_LINES),
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": str(copies),
        # lines and how far the file is read are committed together
        "exactly.once.support": "required",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "line,file",
        "transforms.line.type": f"{TRANSFORMS}.HoistField$Value",
        "transforms.line.field": "line",
        "transforms.file.type": f"{TRANSFORMS}.InsertField$Value",
        "transforms.file.static.field": "file",
        "transforms.file.static.value": file.name,
    }


def told_beforehand(file: Path) -> str | None:
    """What Kafka's file source makes of the file that nobody expects, or None."""
    if not file.exists():
        return "it is not here: Connect waits for it, where it runs itself"
    try:
        with file.open("rb") as held:
            if not all(piece.isascii() for piece in iter(lambda: held.read(1 << 20), b"")):
                return "it has letters beyond ASCII: after a restart Connect reads part of it again (docs/connect.md)"
            if held.tell() and held.seek(-1, os.SEEK_END) >= 0 and held.read(1) != b"\n":
                return "its last line has no end: it comes when one is appended"
    except OSError as error:
        return f"it cannot be read here ({error.strerror}): Connect reads it, where it runs itself"
    return None

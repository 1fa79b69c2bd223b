"""What Kafka Connect is told so that the lines of a file come into a topic."""

from __future__ import annotations

import re
from pathlib import Path

TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
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

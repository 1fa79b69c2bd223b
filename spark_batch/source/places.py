"""What the columns of a record's place are called, in every frame of records."""

from __future__ import annotations

TOPIC_PARTITION = ("topic_number", "partition")
ORIGIN = (*TOPIC_PARTITION, "offset")

"""What tasks talk to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.base.kafka.cluster import Cluster
from app.engine.drive.kafka.schemas import SchemaCache


@dataclass(frozen=True)
class Connections:
    """aiokafka's client options, the cluster, the registry's schemas."""

    client: dict[str, Any]
    cluster: Cluster
    schemas: SchemaCache

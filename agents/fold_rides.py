"""Folds rides into the tables: reads the ride topics and the requests to raise their watermarks.

Late and unusable rides go to the topics `<app>.late` and `<app>.quarantine` in the same transaction as the rows.
"""

from __future__ import annotations

from typing import Any

import faust

from app.engine.driver import BatchSchema
from app.engine.source_table import SourceTable


def attach(app: faust.App, table: SourceTable) -> Any:
    """Register the agent; it keeps `table`."""
    rides = app.topic(*table.definition.topics, schema=BatchSchema())

    @app.agent(rides, name="agents.fold_rides")  # type: ignore[untyped-decorator]
    async def fold_rides(stream: Any) -> None:
        """Fold rides into the tables, batch by batch."""
        async for event in stream.noack().events():
            table.offer(event)

    return fold_rides

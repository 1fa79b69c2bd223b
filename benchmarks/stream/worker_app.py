"""The application of a benched worker: `app.edge.worker` with the benched views, and a signal at its first batch.

The environment variables are those of any worker, and FLAGFALL_TEST_BENCH_LINE: one of benchmarks.stream.views.LINES.
"""

from __future__ import annotations

import os
import time
from typing import Any

from agents import fold
from app.base.settings import Settings
from app.edge.worker import create_worker
from app.engine.core.definition import TaskDefinition
from app.engine.drive.faust_parts.source_table import SourceTable
from app.rides.ride import RIDES
from benchmarks.stream.views import LINE, LINES


class FoldBenched:
    """The agent `agents.fold` over other views."""

    def define(self, settings: Settings) -> TaskDefinition:
        return TaskDefinition(settings.app_id, (RIDES,), LINES[os.environ[LINE]])

    def attach(self, app: Any, table: SourceTable) -> Any:
        """Register the agent; the first batch that is handed over is told to the harness."""
        offer = table.offer

        def tell_and_offer(event: Any) -> None:
            print(f"BENCH first_record {time.time():.6f}", flush=True)
            table.offer = offer  # type: ignore[method-assign]
            offer(event)

        table.offer = tell_and_offer  # type: ignore[method-assign]
        return fold.attach(app, table)


app = create_worker(Settings.load(), agents=(FoldBenched(),), needed=())

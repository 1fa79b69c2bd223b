"""What Faust wants of a table's store, where the rows live elsewhere."""

from __future__ import annotations

from typing import Any

from faust.stores.memory import Store
from faust.types import TP


class NoStore(Store):
    """Holds nothing and recovers nothing: tasks restore themselves (app.engine.drive.faust_parts.source_table)."""

    def persisted_offset(self, tp: TP) -> int | None:
        return None

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        return None

    def apply_changelog_batch(self, *_: Any, **__: Any) -> None:
        raise RuntimeError("a task's changelog is read by its take-over, not by Faust")

"""Where a history's tables are, and what their commits tell: written by `spark_batch.layers`, read by workers too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from app.domain.view import View

TOLD = "flagfall"
"""What commits of a history's tables tell stands under this key of their metadata."""
LATEST_COMMITS = 20
"""Hardly any more lie behind the one that is looked for."""


def history_folder(history_dir: Path | None, application: str) -> Path | None:
    """An application's own, below the folder that is set; None where none is."""
    return None if history_dir is None else history_dir / application


def gold_folder(history: Path, view: View) -> Path:
    """Of an application's `history`, the table of a view's final rows."""
    return history / "gold" / f"{view.name}-{view.version}"


def write_told(told: Any) -> str:
    """As a commit's metadata."""
    return json.dumps({TOLD: told})


def last_told(table: DeltaTable) -> Any:
    """What the last commit tells that tells something; None where none does. Other programs' lie between, if they tidy
    the table."""
    return next(_told(table, LATEST_COMMITS), None) or next(_told(table, None), None)


def _told(table: DeltaTable, limit: int | None) -> Iterator[Any]:
    commits = (one for one in table.history(limit) if one["version"] <= table.version())
    for commit in sorted(commits, key=lambda one: one["version"], reverse=True):
        try:
            found = json.loads(commit.get("userMetadata") or "")
        except ValueError:
            continue
        if isinstance(found, dict) and TOLD in found:
            yield found[TOLD]

"""What the keys are for that workers take (`app.base.files.keys`)."""

from __future__ import annotations

from enum import StrEnum


class KeyScope(StrEnum):
    """What a key opens."""

    READ = "read"
    EXPORT = "export"
    WORKERS = "workers"


SCOPES = {
    KeyScope.READ: "rows, their changes and records, statements, tasks, reports, metrics, the pages",
    KeyScope.EXPORT: "all rows of a task, which `flagfall reconcile` and `flagfall late` take",
    KeyScope.WORKERS: "what workers ask of each other",
}

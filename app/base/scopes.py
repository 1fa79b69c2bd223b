"""What the keys are for that workers take (`app.base.files.keys`)."""

from __future__ import annotations

from enum import StrEnum


class KeyScope(StrEnum):
    """What a key opens."""

    READ = "read"
    EXPORT = "export"
    WRITE = "write"
    WORKERS = "workers"


SCOPES = {
    KeyScope.READ: "rows, their changes and records, statements, tasks, reports, metrics, the pages",
    KeyScope.EXPORT: "all rows of a task, which `flagfall reconcile` and `flagfall late` take",
    KeyScope.WRITE: "records into topics that are counted",
    KeyScope.WORKERS: "what workers ask of each other",
}

"""Since when windows may have changed that earlier runs have found right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson

from app.base.files.trail import Trail, TrailEntry
from app.base.files.verdicts import Verdict
from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.findings.report import LAYOUT, REPORT


def since_last(trail: Trail, application: str, views: Sequence[View]) -> Scope | None:
    """Windows that had not ended in all tasks when the last run found their view right; of several views the longest
    stretch. None, which is all windows, where one was not found right yet as it is defined.

    A run counts if it compared all windows, or those since one that counts. Raises TrailBroken.
    """
    wanted = {(view.name, view.version) for view in views if view.window.ends and not view.window.merges}
    since: tuple[int, str] | None = None
    for entry in trail.backwards(application):
        for view, final_to_us in _settled(trail, entry):
            if view in wanted:
                wanted.remove(view)
                since = min(since or (final_to_us, entry.run.run_id), (final_to_us, entry.run.run_id))
        if not wanted:
            break
    return None if wanted or since is None else Scope(since[0], None, since[1])


def _settled(trail: Trail, entry: TrailEntry) -> Iterator[tuple[tuple[str, str], int]]:
    """Name and version of each view that a run that counts found right, and by when its windows had ended then."""
    scope = entry.run.scope
    if (scope is not None and scope.is_a_stretch) or Verdict.MATCH not in entry.run.views.values():
        return
    content = trail.content(entry, REPORT)
    report = {} if content is None else orjson.loads(content)
    for view in report["views"] if report.get("layout") == LAYOUT else []:
        if entry.run.views[view["view"]] is Verdict.MATCH and view["final_to_us"] is not None:
            yield (view["view"], view["version"]), view["final_to_us"]

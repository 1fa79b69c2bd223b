"""`flagfall status`: where every task stands, at a glance."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_settings, tell
from app.edge.cli.worker_url import worker_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from app.base.files.verdicts import Checked
    from app.base.settings import Settings


@click.command()
@worker_option
@json_option
def command(worker_url: str | None, as_json: bool) -> int:
    """Position, lag and watermark of every task's inputs, as any worker tells them; exit 1 if one is missing, or is
    building a view.

    Beneath, of each view, what `flagfall reconcile` last found of it, from FLAGFALL_DATA_DIR.

    \b
    flagfall status
    flagfall status --worker http://127.0.0.1:18082 --json
    """
    from app.base.worker_door import door_of
    from app.edge.local.ask import ask

    settings = load_settings()
    worker = door_of(settings, worker_url)
    tasks = ask(worker, "/v1/tasks", partial="allow")["data"]
    versions = {view["name"]: view["version"] for view in ask(worker, "/v1/views")["data"]}
    checked = _checked(settings)
    missing = [task for task in tasks if task["state"] == "missing"]
    building = {view for task in tasks if task not in missing for view in task["building"]}
    if as_json:
        verdicts = {name: checked[name].model_dump(mode="json") if name in checked else None for name in versions}
        views = {name: {"version": told, "reconciled": verdicts[name]} for name, told in versions.items()}
        echo_json({"tasks": tasks, "views": views})
    else:
        inputs = [line for task in tasks if task not in missing for line in _inputs(task)]
        echo_table(("INPUT", "POSITION", "LAG", "WATERMARK"), inputs)
        covered, behind = sum(line[1] for line in inputs), sum(line[2] or 0 for line in inputs)
        click.echo(f"\n{covered:,} offsets covered, {behind:,} behind")
        for task in missing:
            click.echo(f"task {task['partition']} of {task['group']} is MISSING: {task['why']}")
        for name, version in versions.items():
            partial = ", PARTIAL: it is being built" if name in building else ""
            click.echo(f"{name:<14} version {version}{partial}, {_verdict(checked.get(name))}")
    return int(bool(missing or building))


def _inputs(task: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (at, position, task["lag_records"][at], task["watermark"][at] or "none yet")
        for at, position in task["position"].items()
    ]


def _checked(settings: Settings) -> Mapping[str, Checked]:
    from app.base.files.verdicts import RUNS, LastVerdicts, LatestUnreadable

    try:
        return LastVerdicts(settings.data_dir / RUNS, settings.app_id).read()
    except LatestUnreadable as error:
        tell(str(error), logging.WARNING)
        return {}


def _verdict(checked: Checked | None) -> str:
    """What is known of a view, with dates: a crashed run leaves the verdict before it."""
    finished, unfinished = (checked.finished, checked.unfinished) if checked else (None, None)
    scope = f" ({finished.scope})" if finished and finished.scope else ""
    texts = [f"{finished.verdict.value}{scope} at {finished.finished_at:%Y-%m-%d %H:%M} UTC"] if finished else []
    texts += [f"a run that began {unfinished.begun_at:%Y-%m-%d %H:%M} UTC has not ended"] if unfinished else []
    return "; ".join(texts) or "never reconciled"

"""`flagfall status`: where every task stands, at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_catalogue, load_settings

if TYPE_CHECKING:
    from app.base.files.verdicts import Checked
    from app.base.settings import Settings


@click.command()
@click.option("--worker", "worker_url", metavar="URL", help="Any worker. Default: FLAGFALL_WORKER_HTTP_PORT here.")
@json_option
def command(worker_url: str | None, as_json: bool) -> int:
    """Position, lag and watermark of every input, as any worker tells them; exit 1 if one is missing.

    Beside each view, what `flagfall reconcile` last found of it, from FLAGFALL_DATA_DIR.

    \b
    flagfall status
    flagfall status --worker http://127.0.0.1:18082 --json
    """
    from app.edge.demo.ask import ask

    settings = load_settings()
    url = worker_url or settings.worker.local_url
    views = [v for v in load_catalogue(settings).views if not v.window.merges]
    metas = {v.name: ask(url, f"/v1/views/{v.name}/rows", limit=1, partial="allow")["meta"] for v in views}
    checked = _checked(settings)
    if as_json:
        verdicts = {name: checked[name].model_dump(mode="json") if name in checked else None for name in metas}
        echo_json({name: meta | {"reconciled": verdicts[name]} for name, meta in metas.items()})
    else:
        inputs = {line[0]: line for meta in metas.values() for line in _inputs(meta)}
        echo_table(("INPUT", "POSITION", "LAG", "WATERMARK"), inputs.values())
        positions, lags = [line[1] for line in inputs.values()], [line[2] or 0 for line in inputs.values()]
        click.echo(f"\n{sum(positions):,} offsets covered, {sum(lags):,} behind")
        for name, told in metas.items():
            partial = ", PARTIAL: a task is missing" if told["partial"] else ""
            click.echo(f"{name:<14} version {told['version']}{partial}, {_verdict(checked.get(name))}")
    return int(any(meta["partial"] for meta in metas.values()))


def _inputs(meta: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (at, position, meta["lag_records"].get(at), meta["watermark"].get(at) or "none yet")
        for at, position in meta["position"].items()
    ]


def _checked(settings: Settings) -> dict[str, Checked]:
    from app.base.files.verdicts import RUNS, LatestUnreadable, read_latest

    try:
        return read_latest(settings.data_dir / RUNS).views
    except LatestUnreadable as error:
        click.echo(str(error), err=True)
        return {}


def _verdict(checked: Checked | None) -> str:
    """What is known of a view, with dates: a crashed run leaves the verdict before it."""
    finished, unfinished = (checked.finished, checked.unfinished) if checked else (None, None)
    texts = [f"{finished.verdict.value} at {finished.finished_at:%Y-%m-%d %H:%M} UTC"] if finished else []
    texts += [f"a run that began {unfinished.begun_at:%Y-%m-%d %H:%M} UTC has not ended"] if unfinished else []
    return "; ".join(texts) or "never reconciled"

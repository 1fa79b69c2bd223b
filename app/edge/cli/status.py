"""`flagfall status`: where every task stands, at a glance."""

from __future__ import annotations

from typing import Any

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_catalogue, load_settings


@click.command()
@click.option("--worker", "worker_url", metavar="URL", help="Any worker. Default: FLAGFALL_WORKER_HTTP_PORT here.")
@json_option
def command(worker_url: str | None, as_json: bool) -> int:
    """Position, lag and watermark of every input, as any worker tells them; exit 1 if one is missing.

    \b
    flagfall status
    flagfall status --worker http://127.0.0.1:18082 --json
    """
    from app.domain.view import Session
    from app.edge.demo.ask import ask

    settings = load_settings()
    url = worker_url or f"http://{settings.worker.http_host}:{settings.worker.http_port}"
    views = [v for v in load_catalogue(settings).views if not isinstance(v.window, Session)]
    metas = {v.name: ask(url, f"/v1/views/{v.name}/rows", limit=1, partial="allow")["meta"] for v in views}
    if as_json:
        echo_json(metas)
    else:
        inputs = {line[0]: line for meta in metas.values() for line in _inputs(meta)}
        echo_table(("INPUT", "POSITION", "LAG", "WATERMARK"), inputs.values())
        positions, lags = [line[1] for line in inputs.values()], [line[2] or 0 for line in inputs.values()]
        click.echo(f"\n{sum(positions):,} offsets covered, {sum(lags):,} behind")
        for name, told in metas.items():
            click.echo(
                f"{name:<14} version {told['version']}{', PARTIAL: a task is missing' if told['partial'] else ''}"
            )
    return int(any(meta["partial"] for meta in metas.values()))


def _inputs(meta: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (at, position, meta["lag_records"].get(at), meta["watermark"].get(at) or "none yet")
        for at, position in meta["position"].items()
    ]

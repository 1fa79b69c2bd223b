"""`flagfall down`: stop what `up` started."""

from __future__ import annotations

import click

from app.edge.cli.common import echo_json, json_option, load_settings, tell


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Stop the workers, then the services; their data stays, and the next `up` continues with it.

    \b
    flagfall down
    FLAGFALL_DATA_DIR=build/up flagfall down
    """
    from app.base.services import local
    from app.edge.local.workers import stop_workers

    settings = load_settings()
    stopped = stop_workers(settings)
    for name in stopped:
        tell(f"{name}: stopped")
    stopped += local.down(settings, tell=tell)
    if as_json:
        return echo_json({"stopped": stopped})
    if not stopped:
        click.echo("nothing ran")

"""`flagfall up`: services and two workers, left running."""

from __future__ import annotations

import shlex

import click

from app.edge.cli.common import echo_json, json_option, load_catalogue, load_settings, tell


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Start Kafka, the registry and two workers, and leave them running. What runs already is left alone.

    \b
    flagfall up
    FLAGFALL_WORKER_HTTP_PORT=28081 flagfall up
    flagfall down
    """
    from app.base.kafka.topic_admin import create_topics
    from app.base.services import local
    from app.definitions.registered import register_schemas
    from app.edge.cli.jars import LOCAL_SETS, fetch_missing
    from app.edge.cli.records.zones import publish_zones
    from app.edge.local.lifetime import owned_until_released, unwind_on_term
    from app.edge.local.workers import await_ready, running_workers, start_workers, stop_workers
    from app.rides.zones import zones
    from app.topics import topics

    unwind_on_term()
    settings = load_settings()
    catalogue = load_catalogue(settings)
    fetch_missing(settings, LOCAL_SETS)
    ran_before = running_workers(settings)
    with owned_until_released() as (owner_fd, release):
        started = local.up(settings, tell, owner_fd)
        try:
            create_topics(settings.kafka, topics(settings, catalogue))
            register_schemas(settings, catalogue.sources)
            publish_zones(settings, zones().values(), if_empty=True)
            workers = start_workers(settings, owner_fd)
            tell("workers: started, waiting until they answer")
            await_ready(workers)
        except BaseException:
            stop_workers(settings, keep=ran_before)
            local.down(settings, started, tell)
            raise
        release(len(started) + len(running_workers(settings) - ran_before))
    if as_json:
        return echo_json({"workers": [worker.url for worker in workers], "data_dir": str(settings.data_dir)})
    click.echo(f"page      {workers[0].url}/")
    click.echo(f"workers   {', '.join(worker.url for worker in workers)}")
    click.echo(f"data      {settings.data_dir} (logs below it)")
    click.echo("rides     .venv/bin/flagfall generate --rides 200000 --seed 7")
    click.echo(f"verdict   FLAGFALL_DATA_DIR={shlex.quote(str(settings.data_dir))} .venv/bin/flagfall reconcile")
    click.echo("stop      make down, or flagfall down with the same FLAGFALL_DATA_DIR")

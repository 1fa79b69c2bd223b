"""`flagfall worker`: one Faust worker."""

from __future__ import annotations

import logging

import click

from app.edge.cli.common import load_settings

log = logging.getLogger(__name__)


@click.command(epilog="Example: FLAGFALL_WORKER_HTTP_PORT=18082 flagfall worker")
@click.option("--http-port", type=click.IntRange(1, 65535), help="Port of this worker's HTTP interface.")
@click.option("--log-level", default="info", show_default=True, type=click.Choice(["debug", "info", "warn", "error"]))
def command(http_port: int | None, log_level: str) -> None:
    """Run one worker: keep tables from the ride topics, and answer queries over HTTP.

    Two workers or more share the tasks; each needs a port of its own. TERM ends it after the transaction under way.
    """
    import gc
    import os

    gc.disable()  # a fifth of what the imports take; `warm_up` has it go on
    if http_port is not None:
        os.environ["FLAGFALL_WORKER_HTTP_PORT"] = str(http_port)
    load_settings().data_dir.mkdir(parents=True, exist_ok=True)  # told in words here, as a service's traceback later
    import mode.loop

    mode.loop.use("uvloop")  # before Faust is there; its own option is read from the process's arguments alone
    from faust.cli.faust import cli

    _say_what_takes_long()
    arguments = ["-A", "app.edge.worker", "--quiet", "worker", "-l", log_level]
    cli.main(arguments, prog_name="flagfall")


def _say_what_takes_long() -> None:
    """One line where the imports that follow must compile: a warning, which is shown before Faust sets up its log."""
    from app.codecs.kept_loops import kept_loops

    loops = kept_loops()
    if loops.kept < loops.all:
        missing = loops.all - loops.kept
        log.warning("compiling %d loops, which takes some ten seconds. %s", missing, loops.what_to_do)

"""`flagfall`: the commands, found by name and imported only when one is run.

Exit codes: 0 done, 1 could not (the message says what to do), 2 wrong usage, 130 interrupted; `reconcile` adds
10 MISMATCH, 11 INCONCLUSIVE, 12 INVALID; `schemas check FILE` adds 3, a schema by which views would lose something.
"""

from __future__ import annotations

import errno
import importlib
import logging
import os
import sys
from typing import Final

import click

from app.base.printable import printable
from app.domain.errors import FlagfallError
from app.edge.cli.common import PROGRAM, load_settings, tell

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "services": ("machine.services", "Start, stop and watch Kafka and the registry on this machine."),
    "doctor": ("machine.doctor", "Say what is missing here or wrong with the cluster, and what to do."),
    "topics": ("topics", "List, create and check the topics."),
    "rights": ("rights", "Show, give and compare what each role may do in Kafka."),
    "schemas": ("schemas", "List, register and check the schemas."),
    "zones": ("records.zones", "Publish the names of the taxi zones."),
    "views": ("tables.views", "List the views, describe one, check a definition file."),
    "generate": ("records.generate", "Write rides made from a seed, with the dirt of real data."),
    "replay": ("records.replay", "Write the rides of TLC files."),
    "advance": ("records.advance", "Close windows by hand: raise the watermarks."),
    "late": ("records.late", "Show late and unusable records, re-feed them, and say what grace costs."),
    "rebuild": ("tables.rebuild", "Begin the tables anew from what the topics hold now."),
    "accept-loss": ("tables.accept_loss", "Go on without records that a topic lost before they were read."),
    "widen": ("tables.widen", "Go on with more partitions, and so with more tasks."),
    "keys": ("machine.keys", "Add, list and remove the keys that workers take."),
    "worker": ("worker", "Run one worker."),
    "query": ("tables.query", "Ask a running worker for rows of a view."),
    "sql": ("tables.sql", "Ask a running worker in SQL, by a prompt too."),
    "reconcile": ("batch.reconcile", "Recompute the views from the topics, and say whether the tables are right."),
    "third": ("batch.third", "Keep a view with Spark Structured Streaming, for reconcile --third."),
    "audit": ("batch.audit", "List what reconciliations found, and check that nobody changed it."),
    "connect": ("tables.connect", "Finals into PostgreSQL by Kafka Connect, and whether they are all there; files in."),
    "status": ("tables.status", "Position, lag and watermark at a glance."),
    "up": ("machine.up", "Services and two workers, left running."),
    "down": ("machine.down", "Stop what `up` started."),
    "demo": ("machine.demo", "The whole flow, once, leaving nothing running (what `make demo` runs)."),
}
"""Of each command: its module in `app.edge.cli`, with an attribute `command`; and its line in the help."""
INTERRUPTED: Final = 130
LOG_FORMAT: Final = "FLAGFALL_LOG_FORMAT"
"""Looked at before anything is imported, as most do without it."""
UNPRINTABLE: Final = (errno.ENOSPC, errno.EPIPE)
"""Of a full disk, or of a reader that has gone, behind what a command prints."""
OWN_PACKAGES: Final = ("app.", "agents.", "tables.", "spark_batch.")


class LazyGroup(click.Group):
    """Commands out of modules that are imported when one is run: the list needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = importlib.import_module(f"app.edge.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="flagfall", message="flagfall %(version)s")
def cli() -> None:
    """Live taxi figures that can be checked.

    Everything is set by environment variables FLAGFALL_*: docs/services.md. `flagfall doctor` finds mistyped ones.

    \b
    flagfall services up
    flagfall topics create && flagfall schemas register && flagfall zones publish
    flagfall worker &
    flagfall generate --rides 200000 --seed 7 --close
    flagfall query zone_demand --zone 132
    flagfall reconcile
    """
    if LOG_FORMAT in os.environ:
        _log_as_set()


def _log_as_set() -> None:
    """What a command logs and tells beside its facts, in the form that is set; SettingsError for one that is none."""
    settings = load_settings()
    if settings.log_format == "json":
        from app.base.log_lines import JsonLines, log_as_json

        log_as_json(logging.getLogger(), JsonLines(application=settings.app_id))
        logging.getLogger(PROGRAM).setLevel(logging.INFO)


def main() -> None:
    """Run the command line and exit with its code."""
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again, and tells a traceback
        code = code or _tell(_in_words(error) or str(error))  # what failed before was told, this too if it was this
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of a command line.

    What flagfall raises on purpose is told in one line, not as a traceback; a place that cannot be used too.
    """
    try:
        code = cli.main(arguments, prog_name="flagfall", standalone_mode=False)
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted", logging.WARNING)
        return INTERRUPTED
    except Exception as error:
        told = _in_words(error)
        if told is None:
            raise
        return _tell(told, error.exit_code if isinstance(error, FlagfallError) else 1)
    return code if isinstance(code, int) else 0


def _show(error: click.ClickException) -> None:
    from app.base.log_lines import logs_json

    if logs_json():
        tell(error.format_message(), logging.ERROR)
    else:
        error.show()


def _tell(told: str, exit_code: int = 1) -> int:
    tell(f"{click.style('error:', fg='red', bold=True)} {printable(told, lines=True)}", logging.ERROR)
    return exit_code


def _in_words(error: Exception) -> str | None:
    """What a user is told; None for what nobody expected."""
    from app.base.kafka.passing import refusal_in_words

    if (refused := refusal_in_words(error)) is not None:
        return refused
    if type(error).__module__.startswith(OWN_PACKAGES):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return (
            f"{os.fsdecode(error.filename)}: {error.strerror}. Name a place that can be used: what is kept lies "
            "below FLAGFALL_DATA_DIR, or where options say"
        )
    if isinstance(error, OSError) and error.errno in UNPRINTABLE:
        return f"what there is to say cannot be written: {error.strerror}"
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return f"an argument holds bytes that are no text in UTF-8: {error.object[error.start : error.end]!r}"
    return None


if __name__ == "__main__":
    main()

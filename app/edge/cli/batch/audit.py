"""`flagfall audit`: what reconciliations found, and whether anybody changed it since."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import echo_json, echo_table, json_option, load_settings, tell

if TYPE_CHECKING:
    from app.base.files.trail import Trail

output_option = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the runs are. Default: reconciliation/ in FLAGFALL_DATA_DIR.",
)
LEAST_DIGITS = 8
"""Of a hash: fewer may be any line's."""


def _digits(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given is not None and not re.fullmatch(f"[0-9a-fA-F]{{{LEAST_DIGITS},64}}", given):
        raise click.BadParameter(f"{given!r} is not {LEAST_DIGITS} to 64 digits of a hash")
    return given


@click.group()
def command() -> None:
    """List what reconciliations found, and check that nobody changed it.

    Each run of `flagfall reconcile` adds a line to trail.jsonl beside its report: what it found, the hashes of its
    files and of the line before, signed with the key in FLAGFALL_AUDIT_KEY.
    """


@command.command("list")
@output_option
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="So many runs.")
@json_option
def list_runs(output: Path | None, last: int, as_json: bool) -> None:
    """The last runs and their verdicts, newest first, as the trail tells them, unchecked.

    \b
    flagfall audit list
    flagfall audit list --last 1 --json
    """
    trail = _trail(output)
    entries = trail.newest(last)
    if as_json:
        echo_json([entry.model_dump(mode="json") for entry in entries])
        return
    if not entries:
        raise _no_trail(trail)
    rows = [
        (
            e.run.run_id,
            e.run.application,
            e.run.verdict.value,
            "" if e.run.residual is None else e.run.residual,
            len(e.run.views),
            e.run.scope or "all",
        )
        for e in entries
    ]
    echo_table(("RUN", "APPLICATION", "VERDICT", "UNEXPLAINED", "COMPARED", "WINDOWS"), rows)


@command.command()
@output_option
@click.option(
    "--public-key",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="A copy of trail.pub.pem from elsewhere: whoever can write here can sign anew with a key of their own.",
)
@click.option(
    "--head",
    metavar="HASH",
    callback=_digits,
    help="The hash that was told last time, or eight of its first digits or more: such a line must be there.",
)
@json_option
def verify(output: Path | None, public_key: Path | None, head: str | None, as_json: bool) -> int:
    """Check every line of the trail, and the files of the runs; exit 1 with the first that was changed.

    Lines that were cut off at the end leave no trace in the file: keep the hash that this prints elsewhere, and give
    it the next time.

    \b
    flagfall audit verify
    flagfall audit verify --public-key trail.pub.pem --head 9f2c…
    """
    trail = _trail(output)
    found = trail.verified(public_key)
    if not found.entries:
        raise _no_trail(trail)
    cut_off = head is not None and not any(one.startswith(head.lower()) for one in found.hashes)
    gone = [str(path) for path in found.gone]
    if as_json:
        told = {"runs": len(found.entries), "head": found.head, "gone": gone, "unlisted": found.unlisted}
        echo_json(told | {"cut_off": cut_off})
    else:
        click.echo(f"{len(found.entries):,} runs, each as it was written; the last line's hash is {found.head}")
        if gone:
            click.echo(f"{len(gone):,} files of runs are not there any more, the first {gone[0]}")
        if found.unlisted:
            click.echo(f"{len(found.unlisted):,} runs left a report and no line, the first {found.unlisted[0]}")
        if cut_off:
            tell(f"CUT OFF: no line has the hash {head}", logging.WARNING)
    return int(cut_off)


def _no_trail(trail: Trail) -> click.ClickException:
    return click.ClickException(f"there is no trail in {trail.runs}: the first run of `flagfall reconcile` begins it")


def _trail(output: Path | None) -> Trail:
    from app.base.files.trail import Trail
    from app.base.files.verdicts import RUNS

    return Trail(output or load_settings().data_dir / RUNS)

"""`flagfall keys`: who may ask workers."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click

from app.base.scopes import SCOPES, KeyScope
from app.edge.cli.common import Command, echo_json, echo_table, json_option, load_settings, tell
from app.edge.cli.instant import INSTANT

SCOPES_TOLD = "\n".join(f"{scope:<8} {told}" for scope, told in SCOPES.items())


def _file_option(command: Command) -> Command:
    """`--file`: passes `file`, None for the one that is set."""
    return click.option(
        "--file",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The file of keys. Default: FLAGFALL_ACCESS_KEYS_FILE.",
    )(command)


@click.group()
def command() -> None:
    """Add, list and remove the keys that workers take.

    Workers take them once FLAGFALL_ACCESS_KEYS_FILE names their file, and answer nobody else then; they look at it
    every second. It holds what tokens hash to, and no token.

    \b
    flagfall keys add dashboards --until 2030-01-01T00:00Z
    flagfall keys list
    """


@command.command(epilog=f"\b\nA key is for\n{SCOPES_TOLD}")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice([scope.value for scope in KeyScope]),
    help="What for; repeatable. Default: read.",
)
@click.option("--until", type=INSTANT, help="When it ends, as 2030-01-01T00:00Z. Default: when it is removed.")
@_file_option
def add(name: str, scopes: tuple[str, ...], until: dt.datetime | None, file: Path | None) -> None:
    """Make a key, and print its token, which is kept nowhere.

    \b
    flagfall keys add dashboards --until 2030-01-01T00:00Z
    flagfall keys add nightly --scope read --scope export
    flagfall keys add workers --scope workers
    """
    from app.base.files.keys import changing, is_name, new_key

    if not is_name(name):
        raise click.UsageError(f"{name!r} is no name of a key: small letters, digits, - and _, a letter first")
    if until is not None and until <= dt.datetime.now(dt.UTC):
        raise click.BadParameter(f"{until.isoformat()} is over: the key would open nothing", param_hint="--until")
    with changing(_file(file)) as keys:
        if name in keys:
            raise click.ClickException(f"there is a key {name}: remove it first, or choose another name")
        keys[name], token = new_key(name, [KeyScope(scope) for scope in scopes] or [KeyScope.READ], until)
    click.echo(token)
    tell("It is shown this once. Callers send it as `Authorization: Bearer TOKEN`, commands as FLAGFALL_ACCESS_TOKEN.")


@command.command("list")
@_file_option
@json_option
def list_keys(file: Path | None, as_json: bool) -> None:
    """The keys, what for and until when.

    \b
    flagfall keys list
    """
    from app.base.files.keys import read_keys

    keys = read_keys(_file(file)).values()
    if as_json:
        return echo_json([{"name": key.name, "scopes": sorted(key.scopes), "until": key.until} for key in keys])
    rows = [(key.name, ", ".join(sorted(key.scopes)), key.until) for key in keys]
    echo_table(("KEY", "FOR", "UNTIL"), rows, "it is removed")


@command.command()
@click.argument("name")
@_file_option
def remove(name: str, file: Path | None) -> None:
    """Take a key away: within a second workers answer it no more.

    \b
    flagfall keys remove dashboards
    """
    from app.base.files.keys import changing
    from app.domain.errors import did_you_mean

    with changing(_file(file), may_make=False) as keys:
        if name not in keys:
            raise click.ClickException(f"there is no key {name}{did_you_mean(name, keys)}")
        del keys[name]


def _file(file: Path | None) -> Path:
    found = file or load_settings().access.keys_file
    if found is None:
        raise click.UsageError("name the file of keys: FLAGFALL_ACCESS_KEYS_FILE, or --file")
    return found

"""A worker's address as an option."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from app.edge.cli.common import Command

if TYPE_CHECKING:
    from click import Context, Parameter


class WorkerUrl(click.ParamType):
    """`http://host:port`, or https; without the slash at its end."""

    name = "url"

    def convert(self, value: str, param: Parameter | None, ctx: Context | None) -> str:
        """Refuses, in words, what nobody can be asked by."""
        try:
            told = urlsplit(value)
            is_one = told.scheme in ("http", "https") and bool(told.hostname) and told.port != 0
        except ValueError:
            is_one = False
        if not is_one:
            self.fail(f"{value!r} is no worker's address; one is http://127.0.0.1:18081", param, ctx)
        return value.rstrip("/")


def worker_option(command: Command) -> Command:
    """`--worker`: passes `worker_url`, None for the local one."""
    return click.option(
        "--worker",
        "worker_url",
        type=WorkerUrl(),
        metavar="URL",
        help="The worker to ask; any will do. Default: FLAGFALL_WORKER_HTTP_PORT on this machine.",
    )(command)

"""Jars for commands that start services or Spark: fetched where they are missing, and told of."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from app.edge.cli.common import tell

if TYPE_CHECKING:
    from app.base.settings import Settings

MEGABYTE = 1_000_000
LOCAL_SETS = ("kafka", "registry")
DEMO_SETS = (*LOCAL_SETS, "spark")
CONNECT_SETS = ("connect", "connect-jdbc")
ALL_SETS = (*DEMO_SETS, *CONNECT_SETS)


def fetch_missing(settings: Settings, set_names: Sequence[str]) -> None:
    """Say what is missing and how large it is, then fetch it: bars on a terminal, lines elsewhere."""
    from app.base.services import jars

    absent = {name: jars.missing(name, settings.cache_dir) for name in set_names}
    for name, pins in absent.items():
        if pins:
            size = sum(pin.size_bytes for pin in pins) / MEGABYTE
            tell(f"{name}: fetching {len(pins)} files, {size:.0f} MB, from Maven Central to {settings.cache_dir}")
    wanted = [name for name, pins in absent.items() if pins]
    if not wanted:
        return
    if not sys.stderr.isatty():
        for name in wanted:
            jars.fetch(name, settings.cache_dir)
            tell(f"{name}: fetched and verified")
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from app.base.terminal import Terminal

    columns = (TextColumn("{task.description:10}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Terminal(stderr=True)) as bars:
        for name in wanted:
            bar = bars.add_task(name, total=sum(pin.size_bytes for pin in absent[name]))
            jars.fetch(name, settings.cache_dir, partial(bars.advance, bar))

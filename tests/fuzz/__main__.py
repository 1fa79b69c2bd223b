"""`make fuzz INPUTS=n`: so many inputs through every door (`doors.py`)."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from app.edge.cli.records.sending import progress
from tests.fuzz.door import FOUND_SHOWN, Tried, try_door
from tests.fuzz.doors import DOORS

GIVEN_SHOWN = 300
NAMES = [door.name for door in DOORS]


@click.command()
@click.option("--inputs", type=click.IntRange(1), default=1_000_000, show_default=True, help="How many, of all doors.")
@click.option("--seed", type=int, help="Default: by the clock.")
@click.option("--door", "names", multiple=True, type=click.Choice(NAMES), help="Only this one; may be repeated.")
@click.option("--report", type=click.Path(path_type=Path), default=Path("build/fuzz.json"), show_default=True)
def main(inputs: int, seed: int | None, names: tuple[str, ...], report: Path) -> None:
    """Put mutated inputs through every door to the outside; exit 1 if one raised, or two readers differ.

    \b
    make fuzz                               a million
    make fuzz INPUTS=50000 DOOR=schemas     of one door
    make fuzz INPUTS=1000 SEED=1234         again
    """
    first = int(time.time()) if seed is None else seed
    chosen = [door for door in DOORS if not names or door.name in names]
    whole = sum(door.share for door in chosen)
    tried: dict[str, Tried] = {}
    for door in chosen:
        count = max(1, round(inputs * door.share / whole))
        with progress(door.name, count) as tell:
            tried[door.name] = try_door(door, random.Random(f"{first} {door.name}"), count, _summing(tell))
        _echo(door.name, tried[door.name])
    _write(report, first, tried)
    found = sum(len(one.found) for one in tried.values())
    total = sum(one.inputs for one in tried.values())
    click.echo(f"{total:,} inputs, {found} found, seed {first}; {report}")
    sys.exit(int(found > 0))


def _summing(tell: Callable[[int], None]) -> Callable[[int], None]:
    """The bar wants to know how many in all."""
    done = 0

    def more(count: int) -> None:
        nonlocal done
        done += count
        tell(done)

    return more


def _echo(name: str, tried: Tried) -> None:
    fates = ", ".join(f"{count:,} {fate}" for fate, count in tried.fates.most_common(6))
    click.echo(f"{name:<12} {tried.inputs:>9,} in {tried.seconds:>6} s, slowest 500 {tried.slowest_seconds} s: {fates}")
    for one in tried.found[:FOUND_SHOWN]:
        click.echo(f"  FOUND {one.error}: {one.given[:GIVEN_SHOWN]}")


def _write(report: Path, seed: int, tried: dict[str, Tried]) -> None:
    doors: dict[str, Any] = {name: asdict(one) | {"fates": dict(one.fates)} for name, one in tried.items()}
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({"seed": seed, "doors": doors}, indent=2, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()

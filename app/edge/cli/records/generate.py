"""`flagfall generate`: rides made from a seed, written to the ride topics."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

import click

from app.domain.errors import did_you_mean
from app.edge.cli.common import bootstrap_option, echo_json, json_option, load_catalogue, load_settings
from app.edge.cli.instant import INSTANT
from app.edge.cli.records.lifecycle_sending import echo_recorded, over_joined, send_lifecycle
from app.edge.cli.records.sending import close_option, close_windows, echo_summary, send, speed_option, summary

if TYPE_CHECKING:
    import polars as pl

    from app.rides.generator.dirt import Dirt
    from app.rides.generator.generator import Generator
    from app.rides.lifecycle.dirt import LifecycleDirt
    from app.rides.lifecycle.lifecycle import Lifecycle

    SomeDirt = TypeVar("SomeDirt", Dirt, LifecycleDirt)
    Made = TypeVar("Made", Generator, Lifecycle)

FRAME_RIDES = 50_000


@click.command()
@click.option("--rides", default=200_000, show_default=True, type=click.IntRange(min=1), help="How many.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(min=0), help="Number of the first one.")
@click.option("--seed", default=7, show_default=True, type=click.IntRange(min=0), help="Same seed, same rides.")
@click.option("--start", type=INSTANT, metavar="TIME", help="When ride 0 is reported, such as 2026-01-05T05:00+00:00.")
@click.option("--rides-per-day", type=click.IntRange(min=1), help="Mean of a week. Default: 400000.")
@click.option("--dirt/--no-dirt", default=True, show_default=True, help="The dirt of real data, every kind.")
@click.option(
    "--dirt-share",
    "shares",
    multiple=True,
    metavar="KIND=SHARE",
    help="One kind, as a share of the rides; 0 is off. Kinds: disorder, late, stray_years, null_blocks, refunds, "
    "zero_distances, duplicates. With --lifecycle: disorder, missing_ends, missing_fares, duplicates, late_fares.",
)
@click.option("--lifecycle", is_flag=True, help="Starts, ends and fares of the rides instead of finished rides.")
@speed_option
@close_option
@bootstrap_option
@json_option
def command(
    rides: int,
    first: int,
    seed: int,
    start: dt.datetime | None,
    rides_per_day: int | None,
    dirt: bool,
    shares: tuple[str, ...],
    lifecycle: bool,
    speed: float | None,
    close: bool,
    bootstrap_server: str | None,
    as_json: bool,
) -> None:
    """Write rides made from a seed: any ride is a function of seed and number, so runs can be repeated.

    \b
    flagfall generate --rides 200000 --seed 7 --close
    flagfall generate --rides 1000000 --speed 60x --dirt-share late=0.05
    flagfall generate --first 200000 --rides 1000 --no-dirt --dirt-share duplicates=0.1
    flagfall generate --lifecycle --rides 50000 --dirt-share missing_ends=0.02 --close
    """
    if lifecycle:
        made = _lifecycle(seed, start, rides_per_day, dirt, shares)
        _require(made, first, rides)
        settings = load_settings(bootstrap_server)
        told = send_lifecycle(settings, made, first, rides, speed, quiet=as_json)
        catalogue = load_catalogue(settings)
        if close and told["latest_clock_ms"] is not None:
            group = catalogue.group("ride_events")
            told["closing_watermark_us"] = close_windows(settings, group, told["latest_clock_ms"])
        return echo_json(told) if as_json else echo_recorded(told, over_joined(catalogue) if close else [])
    generator = _generator(seed, start, rides_per_day, dirt, shares)
    _require(generator, first, rides)
    settings = load_settings(bootstrap_server)
    group = load_catalogue(settings).group("rides")
    written, seconds = send(settings, generated(generator, first, rides), rides, speed, quiet=as_json)
    latest_ms = written.latest_clock_ms
    watermark_us = close_windows(settings, group, latest_ms) if close and latest_ms is not None else None
    facts = summary(written, seconds, watermark_us, seed=seed, first=first)
    if as_json:
        echo_json(facts)
    else:
        echo_summary(facts)


def generated(generator: Generator, first: int, rides: int) -> Iterator[pl.DataFrame]:
    """Rides `first` to `first + rides`, frame by frame."""
    for begin in range(first, first + rides, FRAME_RIDES):
        yield generator.rides(begin, min(FRAME_RIDES, first + rides - begin))


def _generator(
    seed: int, start: dt.datetime | None, rides_per_day: int | None, dirt: bool, shares: tuple[str, ...]
) -> Generator:
    from app.rides.generator.dirt import Dirt
    from app.rides.generator.generator import Generator

    soiled = _with_shares(Dirt.real() if dirt else Dirt.none(), shares)
    return _made(Generator, seed, start, rides_per_day, soiled)


def _lifecycle(
    seed: int, start: dt.datetime | None, rides_per_day: int | None, dirt: bool, shares: tuple[str, ...]
) -> Lifecycle:
    from app.rides.lifecycle.dirt import LifecycleDirt
    from app.rides.lifecycle.lifecycle import Lifecycle

    soiled = _with_shares(LifecycleDirt.real() if dirt else LifecycleDirt.none(), shares)
    return _made(Lifecycle, seed, start, rides_per_day, soiled)


def _made(
    kind: Callable[..., Made], seed: int, start: dt.datetime | None, rides_per_day: int | None, dirt: object
) -> Made:
    from app.rides.generator.generator import DEFAULT_START

    try:
        return kind(
            seed, start or DEFAULT_START, dirt=dirt, **({"rides_per_day": rides_per_day} if rides_per_day else {})
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _require(made: Generator | Lifecycle, first: int, rides: int) -> None:
    """Before the first is sent, that the last can be made."""
    try:
        made.require(first, rides)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _with_shares(dirt: SomeDirt, shares: tuple[str, ...]) -> SomeDirt:
    kinds = [field.name for field in fields(dirt)]
    for text in shares:
        kind, _, share = text.partition("=")
        if kind not in kinds:
            told = f"{text!r}: no kind of dirt {kind!r}{did_you_mean(kind, kinds)}; there are: {', '.join(kinds)}"
            raise click.BadParameter(told, param_hint="--dirt-share")
        try:
            dirt = replace(dirt, **{kind: float(share)})
        except ValueError as error:
            raise click.BadParameter(f"{text!r}: {error}", param_hint="--dirt-share") from error
    return dirt

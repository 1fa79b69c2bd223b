"""Options that select refused records, and the selection they make."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from app.domain.errors import did_you_mean
from app.edge.cli.common import Command
from app.edge.cli.instant import INSTANT

if TYPE_CHECKING:
    from app.domain.catalogue import Catalogue
    from app.domain.records import Place
    from app.edge.late.refused import Selection


PARTITION = click.IntRange(0, 2**31 - 1)
"""Kafka's protocol numbers partitions in 32 bits."""


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorated(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


selecting = _options(
    click.option(
        "--reason",
        "reasons",
        multiple=True,
        metavar="REASON",
        help="late, or as quarantined; out_of_bounds: any column.",
    ),
    click.option(
        "--view", "views", multiple=True, metavar="NAME", help="Late for this view, or unusable in a topic of it."
    ),
    click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="From this source topic."),
    click.option("--partition", "partitions", multiple=True, type=PARTITION, metavar="N", help="From this partition."),
    click.option("--offsets", metavar="FIRST:END", help="Source offsets from FIRST up to, without, END; one may lack."),
    click.option(
        "--from", "from_", type=INSTANT, metavar="TIME", help="Kafka timestamps from here on, as 2026-01-05T08:00Z."
    ),
    click.option("--to", type=INSTANT, metavar="TIME", help="Kafka timestamps before this."),
)


def selection_of(
    catalogue: Catalogue,
    *,
    reasons: Sequence[str],
    views: Sequence[str],
    topics: Sequence[str],
    partitions: Sequence[int],
    offsets: str | None,
    from_: dt.datetime | None,
    to: dt.datetime | None,
    places: frozenset[Place] = frozenset(),
) -> Selection:
    """click.BadParameter for what selects nothing, whatever was refused."""
    from app.edge.late.refused import Selection

    _require_reasons(reasons)
    if from_ is not None and to is not None and from_ >= to:
        raise click.BadParameter("nothing is before --to and not before --from", param_hint="--to")
    times_ms = (_milliseconds(from_), _milliseconds(to))
    chosen = [view for view in catalogue.views if view.name in views]
    return Selection(
        frozenset(reasons),
        frozenset(views),
        frozenset(topics),
        frozenset(partitions),
        _range(offsets),
        times_ms,
        places,
        versions=frozenset(view.version for view in chosen),
        quarantined_of=frozenset(topic.name for view in chosen for topic in view.source.topics),
    )


def require_any(*, is_all: bool, selected: Iterable[object]) -> None:
    """click.UsageError where nothing says which records are meant, or all and some are."""
    are_some = any(selected)
    if is_all and are_some:
        raise click.UsageError("--all, or which records: not both")
    if not is_all and not are_some:
        raise click.UsageError(
            "say which records, as --reason late --view zone_demand does, or --all; --dry-run tells what would change"
        )


def refuse_unknown(catalogue: Catalogue, *, views: Iterable[str], topics: Iterable[str]) -> None:
    """click.BadParameter for a name that is none; only where it selected nothing, as records of views and topics of
    before may be selected by theirs."""
    for name in views:
        if name not in (known := [view.name for view in catalogue.views]):
            told = f"nothing was late for a view {name!r}, and there is none{did_you_mean(name, known)}"
            raise click.BadParameter(told, param_hint="--view")
    for name in topics:
        if name not in (known := list(catalogue.by_topic)):
            told = f"nothing was refused of a topic {name!r}, and no source has it{did_you_mean(name, known)}"
            raise click.BadParameter(told, param_hint="--topic")


def _require_reasons(reasons: Sequence[str]) -> None:
    """A word that is no reason would select nothing, and look as if nothing had been refused."""
    from app.domain.records import Reason
    from app.edge.late.refused import LATE

    known = [LATE, *(reason.value for reason in Reason)]
    for reason in reasons:
        said = reason.partition(":")[0]
        if said not in known:
            told = f"no reason {said!r}{did_you_mean(said, known)}; there are: {', '.join(known)}"
            raise click.BadParameter(told, param_hint="--reason")


def _range(text: str | None) -> tuple[int | None, int | None]:
    """click.BadParameter for what is no range of offsets, or holds none."""
    if text is None:
        return None, None
    told = re.fullmatch(r"([0-9]{0,19}):([0-9]{0,19})", text, re.ASCII)
    if told is None:
        raise click.BadParameter(f"{text!r} is not FIRST:END, as 5000:6000", param_hint="--offsets")
    first, end = (int(digits) if digits else None for digits in told.groups())
    if end is not None and end <= (first or 0):
        raise click.BadParameter(f"{text!r} holds no offset: END is the first one left out", param_hint="--offsets")
    return first, end


def _milliseconds(instant: dt.datetime | None) -> int | None:
    return None if instant is None else round(instant.timestamp() * 1000)

"""`flagfall third`: a view kept by Spark as a stream, to be compared with what workers keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.batch.spark import spark_of, steps_shown, third_root
from app.edge.cli.common import bootstrap_option, load_catalogue, load_settings, tell

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.view import View
    from spark_batch.stored.cut import Span
    from spark_batch.third.batch import ThirdBatch
    from spark_batch.third.place import ThirdPlace


EVERY = (0.001, 86_400)
"""Seconds: from the shortest that Spark counts to a day; what it cannot read as a time is not between them."""


def _is_a_number(context: click.Context, parameter: click.Parameter, seconds: float) -> float:
    """Click's range lets pass what is neither below nor above it."""
    if math.isnan(seconds):
        raise click.BadParameter(f"{seconds} is not in the range {EVERY[0]}<=x<={EVERY[1]}.")
    return seconds


@click.command()
@click.argument("name", metavar="VIEW")
@click.option("--once", is_flag=True, help="End when all is read that was there at the start.")
@click.option(
    "--every",
    default=10.0,
    show_default=True,
    type=click.FloatRange(*EVERY),
    callback=_is_a_number,
    metavar="SECONDS",
    help="Begin a batch so often.",
)
@bootstrap_option
def command(*, name: str, once: bool, every: float, bootstrap_server: str | None) -> None:
    """Keep a view with Spark Structured Streaming, by Spark's own watermark, until it is told to end.

    \b
    flagfall third zone_demand
    flagfall third zone_demand --once
    flagfall reconcile --third

    It reads the same topics and keeps the rows of every batch as a Delta table below third/ in FLAGFALL_DATA_DIR, with
    the offsets that the batch has read. Ended in whatever way, it goes on where it was. Views of windows that follow
    one another (tumbling) can be kept so.
    """
    from app.base.files.working_directory import working_directory
    from app.base.kafka.cluster import Cluster
    from app.edge.local.lifetime import unwind_on_term
    from spark_batch.errors import Inconclusive
    from spark_batch.third.place import Subject, ThirdPlace

    unwind_on_term()
    settings = load_settings(bootstrap_server)
    view = _view(settings, name)
    cluster = Cluster(settings.kafka)
    facts = cluster.topics([topic.name for topic in view.source.topics])
    subject = Subject.of(view, {topic: str(fact.id) for topic, fact in facts.items()})
    root = third_root(settings)
    place = ThirdPlace.of(root, settings.app_id, view)
    trigger = {"availableNow": True} if once else {"processingTime": f"{every} seconds"}
    with place.held_for(subject), working_directory(root / "work") as work:
        place.require_unread(name, cluster.log_starts(place.reached))
        try:
            _keep(settings, view, place, work, trigger)
        except Inconclusive:  # Spark's words for records that were deleted meanwhile do not say what to do
            place.require_unread(name, cluster.log_starts(place.reached))
            raise


def _keep(settings: Settings, view: View, place: ThirdPlace, work: Any, trigger: dict[str, Any]) -> None:
    from functools import partial

    from app.base.kafka.clients import java_options
    from spark_batch.source.read_source import kept_columns
    from spark_batch.third.query import await_end, start_query
    from spark_batch.third.read_stream import read_stream

    held = partial(_schemas, settings, view)
    with steps_shown(quiet=False) as progress, spark_of(settings, work, progress) as spark:
        columns = kept_columns(view.source, [view])
        records = read_stream(spark, java_options(settings.kafka), view.source, columns, held(), held)
        query = start_query(spark, view, records, place, trigger, _told)
        tell(f"{view.name} is kept in {place.folder}")
        await_end(query)


def _schemas(settings: Settings, view: View) -> Any:
    """The registry's, of the view's topics first; called on Spark's machines, too."""
    from app.base.names import subject_of
    from app.base.registry.client import Registry
    from app.base.registry.schemas import RegistrySchemas

    return RegistrySchemas(Registry(settings), [subject_of(topic.name) for topic in view.source.topics])


def _told(batch: ThirdBatch, spans: Sequence[Span]) -> None:
    if spans:
        from spark_batch.findings.keys import shown_instant

        read = sum(span.end - span.start for span in spans)
        tell(f"batch {batch.number}: {read:,} offsets, late is what ended by {shown_instant(batch.late_below_us)}")


def _view(settings: Settings, name: str) -> View:
    from spark_batch.third.query import is_kept

    try:
        view = load_catalogue(settings).view(name)
    except KeyError as error:
        raise click.BadParameter(str(error.args[0]), param_hint="VIEW") from error
    if not is_kept(view):
        told = f"{name}: windows of {view.window.describe()}; what can be kept so are windows that follow one another"
        raise click.BadParameter(told, param_hint="VIEW")
    return view

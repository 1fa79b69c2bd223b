"""A third opinion of a world's first view, kept by Spark."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from app.base.kafka.clients import java_options
from app.base.names import subject_of
from app.base.registry.client import Registry
from app.base.registry.schemas import RegistrySchemas
from app.base.settings import Settings
from app.domain.view import View
from spark_batch.source.read_source import kept_columns
from spark_batch.third.place import Subject, ThirdPlace
from spark_batch.third.query import start_query
from spark_batch.third.read_stream import read_stream
from tests.support.material.stored.world import World

AT_ONCE = 200
"""Offsets of a batch: a watermark moves between batches, so some records come late."""


def keep(world: World, spark: SparkSession, root: Path) -> None:
    """Let the query of the first view read all that there is."""
    view, held = world.view, partial(_held_schemas, world.settings, world.view)
    columns, options = kept_columns(view.source, [view]), java_options(world.settings.kafka)
    records = read_stream(spark, options, view.source, columns, held(), held, AT_ONCE)
    place = ThirdPlace.of(root, world.settings.app_id, view)
    with place.held_for(Subject.of(view, topic_ids(world))):
        query = start_query(spark, view, records, place, {"availableNow": True}, lambda batch, spans: None)
        query.awaitTermination()


def topic_ids(world: World) -> dict[str, str]:
    """Of the view's source, as they are now."""
    names = [topic.name for topic in world.source.topics]
    return {name: str(facts.id) for name, facts in world.cluster.topics(names).items()}


def _held_schemas(settings: Settings, view: View) -> RegistrySchemas:
    return RegistrySchemas(Registry(settings), [subject_of(topic.name) for topic in view.source.topics])

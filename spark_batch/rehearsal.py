"""A small run over made-up rides, without Kafka: what Java has loaded for it, later sessions begin with."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.services.jars import fetch
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.codecs.avro.schema import WriterSchema
from app.domain.difference import Fate
from app.rides.frames import message_keys
from app.rides.generator.generator import Generator
from app.rides.ride import RIDES, avro_schema
from app.rides.views import VIEWS
from spark_batch.class_archive import NAME, class_archive
from spark_batch.findings.compare import compare
from spark_batch.folds.recompute import judged, rows
from spark_batch.java_end import java
from spark_batch.layers.committed import CommittedTable
from spark_batch.session import spark_session
from spark_batch.source.kafka_range import RECORD_SCHEMA
from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark

RIDES_EACH = 100
MOST_SECONDS = 120.0
"""For Java to write an archive as it ends; it takes ten."""


def archive_spark(settings: Settings, tell: Callable[[str], None] = lambda text: None) -> None:
    """Make the archive where there is none. Raises JarError, JavaNotFound, Inconclusive where Spark does not start."""
    archive = class_archive(settings)
    if archive.path.exists():
        return
    tell(f"{NAME}: a small run for its classes")
    jars, home = fetch(NAME, settings.cache_dir), archive.java.home
    with tempfile.TemporaryDirectory(prefix="flagfall-") as made, archive.made() as option:
        folder = Path(made)
        log = folder / "spark.log"
        begun = spark_session(jars, folder, log, java_home=home, java_options=option, end_seconds=MOST_SECONDS)
        with begun as spark, _cut_short_by_orders():
            rehearse(spark, folder)


@contextmanager
def _cut_short_by_orders() -> Iterator[None]:
    """Java, which would write its archive first, ends at once where this process is told to end."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if (process := java()) is not None:
            process.kill()
        raise


def rehearse(spark: SparkSession, folder: Path) -> None:
    """Decode, recompute, compare and keep some rides, each by what runs do it by."""
    schema = WriterSchema(1, json.dumps(avro_schema()))
    records = with_watermark(read_source(_some_rides(spark), RIDES, {1: schema}, folder), RIDES, ()).cache()
    for view in VIEWS:
        made = rows(view, judged(view, records).where(F.col("fate") == Fate.APPLIED.value))
        compare(view, made, made, made, limit=1)
    kept = CommittedTable(spark, folder / "kept")
    kept.commit(records, 1)
    kept.rows().count()


def _some_rides(spark: SparkSession) -> DataFrame:
    """As `read_spans` would read them."""
    frame, (topic, *_) = Generator(seed=0).rides(0, RIDES_EACH), RIDES.topics
    values, keys, clocks = encode_frame(frame, avro_schema(), 1), message_keys(frame), frame["clock_ms"]
    told = [(topic.name, 0, at, *one) for at, one in enumerate(zip(clocks, keys, values, strict=True))]
    return spark.createDataFrame(told, RECORD_SCHEMA)

"""Spark Structured Streaming: a stateful aggregation, its changed rows written to a topic after each micro-batch.

python benchmarks/peers/structured_streaming.py JOB.json
"""

from __future__ import annotations

import json
import os
import sys
from functools import reduce

from fold import FRAMING_BYTES, INT64_MIN, LOW_32, NO_ZONE, ROUNDS, Job, signal
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.avro.functions import from_avro

RIDES_A_BATCH = 250_000


def main(path: str) -> None:
    job = Job.read(path)
    with open(path) as file:  # noqa: PTH123
        told = json.load(file)
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": told["variant"]["java_home"]}
    spark = (
        SparkSession.builder.master("local[1]")
        .appName(job.name)
        .config("spark.jars", told["variant"]["jars"])
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:-DontCompileHugeMethods")
        .config("spark.local.dir", job.state_dir)
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "WARN")
        .config("spark.sql.ansi.enabled", "false")  # fingerprints wrap around
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(len(job.ends)))
        .getOrCreate()
    )
    source = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", job.bootstrap_server)
        .option("subscribe", job.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RIDES_A_BATCH)
        .load()
    )
    signal("first_record")  # the first fetch follows at once: Spark plans before it reads
    query = (
        changed_rows(source, job, told["schema"])
        .writeStream.outputMode("update")
        .format("kafka")
        .option("kafka.bootstrap.servers", job.bootstrap_server)
        .option("kafka.compression.type", "zstd")
        .option("topic", f"{job.name}-rows")
        .option("checkpointLocation", f"{job.state_dir}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    signal("last_commit")
    spark.stop()


def changed_rows(source, job: Job, schema: str):  # type: ignore[no-untyped-def]
    """Key, value and partition of each row that a micro-batch has changed."""
    ride = from_avro(F.expr(f"substring(value, {FRAMING_BYTES + 1})"), schema)
    rides = source.select("partition", "offset", ride.alias("ride")).select("partition", "offset", "ride.*")
    pane = f"{job.pane_seconds} seconds"
    placed = rides.select(
        "*",
        F.timestamp_micros("pickup_at_us").alias("pickup_at"),
        (F.col("dropoff_at_us") - F.col("pickup_at_us")).alias("duration_us"),
        mixed(origin(job.topic_number)).alias("mix"),
    ).withWatermark("pickup_at", f"{job.grace_seconds} seconds")
    cells = [F.count(F.lit(1)), F.sum("mix")]
    for name in ("fare_cents", "tip_cents", "distance_hundredth_miles"):
        cells += [F.coalesce(F.sum(name), F.lit(0)), F.count(name)]
    for name in ("duration_us", "fare_cents"):
        cells += [F.coalesce(F.max(name), F.lit(INT64_MIN)), F.count(name)]
    named = [cell.alias(f"cell_{at}") for at, cell in enumerate(cells)]
    rows = placed.groupBy("partition", F.window("pickup_at", pane).alias("pane"), "pickup_zone").agg(*named)
    start = F.unix_micros(F.col("pane.start"))
    zone = F.coalesce(F.col("pickup_zone"), F.lit(NO_ZONE)).cast("int")
    return rows.select(
        F.concat(big_endian(start, 16), big_endian(zone, 8)).alias("key"),
        F.concat(*(big_endian(F.col(f"cell_{at}"), 16) for at in range(len(cells)))).alias("value"),
        "partition",
    )


def big_endian(number: Column, digits: int) -> Column:
    return F.unhex(F.lpad(F.hex(number) if digits == 16 else F.right(F.hex(number), F.lit(digits)), digits, "0"))


def origin(topic_number: int) -> Column:
    place = F.shiftleft(F.col("partition").cast("bigint"), 44).bitwiseOR(F.col("offset"))
    return place.bitwiseOR(F.lit(topic_number << 56))


def mixed(packed: Column) -> Column:
    """The mixed origin; each round is two columns of one expression."""

    def turn(halves: tuple[Column, Column], numbers: tuple[int, int]) -> tuple[Column, Column]:
        left, right = halves
        product = right.bitwiseXOR(F.lit(numbers[0])) * F.lit(numbers[1])
        scrambled = product.bitwiseXOR(F.shiftright(product, 31)).bitwiseAND(F.lit(LOW_32))
        return right, left.bitwiseXOR(scrambled)

    left, right = reduce(turn, ROUNDS, (F.shiftrightunsigned(packed, 32), packed.bitwiseAND(F.lit(LOW_32))))
    return F.shiftleft(left, 32).bitwiseOR(right)


if __name__ == "__main__":
    main(sys.argv[1])

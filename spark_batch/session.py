"""The one Spark session of a run: exact arithmetic, UTC, and silent; on this machine alone, or on a cluster."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen, TimeoutExpired

import py4j
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from app.base.addresses import LOOPBACK
from app.base.settings import Settings
from spark_batch.java_end import telling_of_its_end

ARROW_BATCH_ROWS = 20_000
"""Larger batches are no faster, smaller ones cost Python calls."""
SHUFFLE_PARTITIONS_PER_CORE = 2
COMPILE_LARGE_METHODS = "-XX:-DontCompileHugeMethods"
"""Spark writes one method for many columns; Java leaves methods that large to its interpreter unless told not to.
Records per processor second with it: 118,000 instead of 49,000 (decoding and bounds of 28 columns)."""
BOUND_TEXTS = "-Dorg.apache.avro.limits.string.maxLength=1048576"
"""A text's length is what its record claims, and Avro makes room for it first: two forged gigabytes end the JVM. Longer
ones are looked at one by one."""
JAVA_OPTIONS = f"{COMPILE_LARGE_METHODS} {BOUND_TEXTS}"
END_WITHOUT_MEMORY = "-XX:+ExitOnOutOfMemoryError"
"""Else Spark goes on without what failed, or ends itself in one of several ways."""
END_SECONDS = 10.0
PY4J = Path(py4j.__file__).parent


def spark_log(settings: Settings) -> Path:
    """Where Java prints to in a run of `flagfall reconcile`."""
    return settings.data_dir / "logs" / "spark.log"


@contextmanager
def spark_session(
    jars: Sequence[Path],
    work_dir: Path,
    log_file: Path,
    *,
    java_home: Path | None = None,
    cores: int | None = None,
    memory_mb: int = 2048,
    java_options: str = "",
    master: str | None = None,
    end_seconds: float = END_SECONDS,
) -> Iterator[SparkSession]:
    """A session with `jars` and with scratch files below `work_dir`, an absolute path. It ends with the block.

    `cores` None takes all there are. `master`: a cluster's, which this process drives; None for this machine, where
    nothing listens but on loopback. Of a cluster, Spark's own settings say the rest: `spark-defaults.conf` in
    SPARK_CONF_DIR. ANSI is on: an overflow raises instead of wrapping, a bad cast is an error.
    What Java prints goes to `log_file`; what fails in the block, or before it, is raised as `telling_of_its_end` tells
    it. The Java process ends with the block, within `end_seconds`, so that nothing writes below `work_dir` any more, or
    with this process, however that ends: it listens to a pipe.
    """
    _silence_py4j()
    os.environ |= {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    if java_home is not None:
        os.environ["JAVA_HOME"] = str(java_home)
    place = _on_this_machine(cores or os.cpu_count() or 1) if master is None else _on_a_cluster(master)
    sizes = {
        "spark.driver.memory": f"{memory_mb}m",
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {END_WITHOUT_MEMORY} {java_options}",
    }
    conf = SparkConf(loadDefaults=False).setAll(list((_options(jars, work_dir) | place | sizes).items()))
    with telling_of_its_end(memory_mb, log_file, master):
        for folder in (log_file.parent, work_dir):
            folder.mkdir(parents=True, exist_ok=True)
        with log_file.open("wb") as log:
            # Spark makes a folder of its own in whichever it is started in: a user's, or one that nobody may write to
            place_of_java = {"stdout": log, "stderr": log, "cwd": work_dir}
            gateway = launch_gateway(conf, place_of_java)  # type: ignore[no-untyped-call]
    try:
        with telling_of_its_end(memory_mb, log_file, master):  # here, while Java can be asked
            interrupt = signal.getsignal(signal.SIGINT)
            context = SparkContext(gateway=gateway, conf=conf)
            context._accumulatorServer.handle_error = _unless_java_has_ended  # type: ignore[method-assign, assignment]
            spark = SparkSession(context)
            signal.signal(signal.SIGINT, interrupt)  # PySpark's own handler asks Java, and waits for it
            yield spark
            if gateway.proc.poll() is None:
                spark.stop()
    finally:
        _end(gateway.proc, end_seconds)
        SparkContext._gateway = SparkContext._jvm = None  # else a later session would ask the one that has ended


def _silence_py4j() -> None:
    """What it logs is raised, too, but where it lets go of Java's objects, which Java's end may cut short."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_py4js)  # where it logs of questions that are cut short


def _is_not_py4js(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent != PY4J


def _unless_java_has_ended(request: object, address: object) -> None:
    """In place of PySpark's own, which prints a traceback when Java ends before this session does."""
    if not isinstance(error := sys.exception(), EOFError | ConnectionError):
        logging.getLogger(__name__).error("Spark's accumulators: %r", error)


def _end(java: Popen[bytes], seconds: float) -> None:
    """Java ends by itself when its input does, whatever it is at; KILL if it takes too long over it."""
    assert java.stdin is not None
    java.stdin.close()
    try:
        java.wait(seconds)
    except TimeoutExpired:
        java.kill()
        java.wait()


def _on_this_machine(cores: int) -> dict[str, str]:
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.sql.shuffle.partitions": str(cores * SHUFFLE_PARTITIONS_PER_CORE),
        "spark.databricks.delta.snapshotPartitions": str(cores),
        # Its Python processes work where Java does, and import what this one can.
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
    }


def _on_a_cluster(master: str) -> dict[str, str]:
    return {"spark.master": master, "spark.executor.extraJavaOptions": JAVA_OPTIONS}


def _options(jars: Sequence[Path], work_dir: Path) -> dict[str, str]:
    return {
        "spark.app.name": "flagfall reconcile",
        "spark.jars": ",".join(map(str, jars)),
        "spark.local.dir": str(work_dir / "spark"),
        "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.python.sql.dataFrameDebugging.enabled": "false",  # half of all calls of Java
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH_ROWS),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }

"""Write ``jars.sha256`` anew: ``python -m app.base.services.pin_jars``, after a version below was changed.

Resolves each set with jgo into a temporary directory and records what came. Read the difference before
committing it.
"""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path
from typing import Any

from app.base.services.jars import LIST, file_sha256, tree_sha256

KAFKA, REGISTRY, SPARK, DELTA, FLINK = "4.3.1", "3.0.9", "4.0.0", "4.0.1", "2.2.1"
DEBEZIUM = "3.6.0.Final"
# Apicurio 3.3 is compiled for Java 21; 3.0.9 is the newest release on Maven Central that runs on 17 as well.
LOG4J = "2.25.4"
# jgo mixes versions of Flink's own parts, so each part is named: what Maven finds for flink-clients,
# flink-streaming-java, flink-connector-base and flink-connector-kafka, without a profiler and annotations
FLINK_PARTS = (
    *("annotations", "clients", "connector-base", "connector-datagen", "core", "core-api", "datastream"),
    *("datastream-api", "file-sink-common", "hadoop-fs", "metrics-core", "queryable-state-client-java"),
    *("rpc-akka-loader", "rpc-core", "runtime", "streaming-java"),
)
FLINK_NEEDS = (
    "org.apache.flink:flink-connector-kafka:5.0.0-2.2",
    "org.apache.kafka:kafka-clients:4.2.0",  # the connector reaches into the producer: of its own version only
    "org.apache.flink:flink-shaded-asm-9:9.6-20.0",
    "org.apache.flink:flink-shaded-guava:33.4.0-jre-20.0",
    "org.apache.flink:flink-shaded-jackson:2.18.2-20.0",
    "org.apache.flink:flink-shaded-netty:4.1.100.Final-20.0",
    "org.apache.flink:flink-shaded-zookeeper-3:3.7.2-20.0",
    "at.yawk.lz4:lz4-java:1.10.3",
    "com.esotericsoftware:kryo:5.6.2",
    "com.esotericsoftware:minlog:1.3.1",
    "com.esotericsoftware:reflectasm:1.11.9",
    "com.fasterxml.jackson.core:jackson-annotations:2.18.2",
    "com.fasterxml.jackson.core:jackson-core:2.18.2",
    "com.fasterxml.jackson.core:jackson-databind:2.18.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.18.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jsr310:2.18.2",
    "com.github.luben:zstd-jni:1.5.6-10",
    "commons-cli:commons-cli:1.5.0",
    "commons-collections:commons-collections:3.2.2",
    "commons-io:commons-io:2.15.1",
    "org.apache.commons:commons-compress:1.26.0",
    "org.apache.commons:commons-lang3:3.18.0",
    "org.apache.commons:commons-math3:3.6.1",
    "org.apache.commons:commons-text:1.10.0",
    "org.javassist:javassist:3.24.0-GA",
    "org.objenesis:objenesis:3.4",
    "org.slf4j:slf4j-api:1.7.36",
    "org.snakeyaml:snakeyaml-engine:2.6",
    "org.xerial.snappy:snappy-java:1.1.10.7",
    "org.apache.avro:avro:1.12.1",
    *(f"org.apache.logging.log4j:log4j-{part}:{LOG4J}" for part in ("api", "core", "slf4j-impl")),
)
WITH_DEPENDENCIES = {
    "kafka": [f"org.apache.kafka:kafka_2.13:{KAFKA}"],
    "connect": [f"org.apache.kafka:connect-{part}:{KAFKA}" for part in ("runtime", "file")],
}
"""Connect runs with Kafka's jars before its own: of its set, those that are not in Kafka's."""
ALONE = {
    # resolved together with Kafka, its BOM would replace versions of Kafka's own dependencies (kafka-clients
    # 3.9!)
    "kafka": [f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J}"],
    # what Spark does not bring itself; 4.0.0 is the newest version of which all three are on Maven Central
    "spark": [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK}",
        f"org.apache.spark:spark-avro_2.13:{SPARK}",
        "org.apache.kafka:kafka-clients:3.9.0",
        "org.apache.commons:commons-pool2:2.12.0",
        f"io.delta:delta-spark_2.13:{DELTA}",
        f"io.delta:delta-storage:{DELTA}",
    ],
    # what the benchmark's Kafka Streams program needs beside Kafka's own jars
    "bench": [
        f"org.apache.kafka:kafka-streams:{KAFKA}",
        "org.rocksdb:rocksdbjni:10.1.3",
        "org.apache.avro:avro:1.12.1",
    ],
    "flink": [*(f"org.apache.flink:flink-{part}:{FLINK}" for part in FLINK_PARTS), *FLINK_NEEDS],
    # as archive: not all of its parts are on Maven Central by themselves
    "connect-jdbc": [f"io.debezium:debezium-connector-jdbc:{DEBEZIUM}:tar.gz:plugin"],
    "registry": [f"io.apicurio:apicurio-registry-app:{REGISTRY}:tar.gz:all"],
}
HEAD = "# sha256, bytes, set, coordinate; written by app/base/services/pin_jars.py\n"


def main() -> None:
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(repo_cache=Path(repository), local_repos=[], timeout=60)
        lines = []
        pinned = set[str]()
        for set_name, coordinates in WITH_DEPENDENCIES.items():
            found = [_line(set_name, one) for coordinate in coordinates for one in _resolved(context, coordinate)]
            new = [line for line in dict.fromkeys(found) if line.split()[-1] not in pinned]
            pinned |= {line.split()[-1] for line in new}
            lines += new
        for set_name, coordinates in ALONE.items():
            for coordinate in coordinates:
                group, name, version, *rest = coordinate.split(":")
                packaging, classifier = rest or ("jar", "")
                component = context.project(group, name).at_version(version)
                artifact = component.artifact(classifier=classifier, packaging=packaging)
                lines.append(_line(set_name, artifact))
                if packaging == "tar.gz":
                    lines.append(_tree_line(set_name, coordinate, artifact.resolve(), Path(repository, "tree")))
    LIST.write_text(HEAD + "".join(lines))


def _resolved(context: Any, coordinate: str) -> list[Any]:
    inputs, others = context.resolver.resolve([context.create_dependency(coordinate)])
    return [dependency.artifact for dependency in inputs + others]


def _line(set_name: str, artifact: Any) -> str:
    file = artifact.resolve()
    suffix = f":{artifact.packaging}:{artifact.classifier}" if artifact.packaging != "jar" else ""
    coordinate = f"{artifact.groupId}:{artifact.artifactId}:{artifact.version}{suffix}"
    return f"{file_sha256(file)} {file.stat().st_size} {set_name} {coordinate}\n"


def _tree_line(set_name: str, coordinate: str, archive: Path, folder: Path) -> str:
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{tree_sha256(folder)} {size} {set_name} {coordinate} unpacked\n"


if __name__ == "__main__":
    main()

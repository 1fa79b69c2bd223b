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

KAFKA, REGISTRY, SPARK = "4.3.1", "3.0.9", "4.0.0"
# Apicurio 3.3 is compiled for Java 21; 3.0.9 is the newest release on Maven Central that runs on 17 as well.
WITH_DEPENDENCIES = {"kafka": f"org.apache.kafka:kafka_2.13:{KAFKA}"}
ALONE = {
    # resolved together with Kafka, its BOM would replace versions of Kafka's own dependencies (kafka-clients
    # 3.9!)
    "kafka": ["org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"],
    # what Spark does not bring itself; 4.0.0 is the newest version of which all three are on Maven Central
    "spark": [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}",
        f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK}",
        f"org.apache.spark:spark-avro_2.13:{SPARK}",
        "org.apache.kafka:kafka-clients:3.9.0",
        "org.apache.commons:commons-pool2:2.12.0",
    ],
    # what the benchmark's Kafka Streams program needs beside Kafka's own jars
    "bench": [
        f"org.apache.kafka:kafka-streams:{KAFKA}",
        "org.rocksdb:rocksdbjni:10.1.3",
        "org.apache.avro:avro:1.12.1",
    ],
    "registry": [f"io.apicurio:apicurio-registry-app:{REGISTRY}:tar.gz:all"],
}
HEAD = "# sha256, bytes, set, coordinate; written by app/base/services/pin_jars.py\n"


def main() -> None:
    from jgo.maven import MavenContext

    with tempfile.TemporaryDirectory() as repository:
        context = MavenContext(repo_cache=Path(repository), local_repos=[], timeout=60)
        lines = []
        for set_name, coordinate in WITH_DEPENDENCIES.items():
            inputs, others = context.resolver.resolve([context.create_dependency(coordinate)])
            lines += [_line(set_name, dependency.artifact) for dependency in inputs + others]
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

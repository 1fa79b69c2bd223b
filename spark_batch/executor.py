"""An executor in a pod of Kubernetes: `python -m spark_batch.executor executor`, as Spark itself asks for it.

Spark tells a pod what to be by variables, for the start script of its own image (in Spark 4.0's source below
resource-managers/kubernetes/docker). The image of flagfall is not made from that one; this takes the script's place.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from app.base.services.java import find_java
from spark_batch.class_archive import OWN_JARS

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
JAVA_OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def executor_command(java: Path, told: Mapping[str, str]) -> list[str]:
    """What a pod runs that was `told` these variables. Raises KeyError for one that Spark always sets."""
    numbered = {int(found[1]): value for name, value in told.items() if (found := JAVA_OPTION.fullmatch(name))}
    memory = told["SPARK_EXECUTOR_MEMORY"]
    classes = [told.get("SPARK_CONF_DIR"), told.get("SPARK_CLASSPATH"), str(OWN_JARS / "*")]
    arguments = [part for name, variable in ARGUMENTS.items() for part in (name, told[variable])]
    return [
        str(java),
        *(numbered[number] for number in sorted(numbered)),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join(filter(None, classes)),
        BACKEND,
        *arguments,
    ]


def main() -> None:
    """Become the executor."""
    if sys.argv[1:] != ["executor"]:
        sys.exit("It is started by Spark on Kubernetes, with the argument `executor` (docs/kubernetes.md)")
    command = executor_command(find_java().executable, os.environ)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()

"""Pods as processes of this machine: what Spark asks of Kubernetes, and no more."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.base.addresses import LOOPBACK
from tests.support.machine.waiting import patient

END_SECONDS = 30.0
Document = dict[str, Any]


class Pod:
    """Runs its one container's command as it is given, with what its variables say.

    It works in a folder of its own below `folder`, as executors fetch jars into theirs; so is a mounted folder of the
    pod's own. Of any other volume what stands there on this machine is taken.
    """

    def __init__(self, document: Document, folder: Path, log: Path) -> None:
        self.document, self.name = document, document["metadata"]["name"]
        (container,) = document["spec"]["containers"]
        own = {volume["name"] for volume in document["spec"]["volumes"] if {"emptyDir", "configMap"} & set(volume)}
        self._own = {
            mount["mountPath"]: folder / self.name / mount["name"]
            for mount in container["volumeMounts"]
            if mount["name"] in own
        }
        home = folder / self.name
        for place in (home, *self._own.values()):
            place.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [*container["command"], *container["args"]],
                env=_environment() | dict(map(self._variable, container["env"])),
                cwd=home,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.document["status"] = {"phase": "Running", "podIP": LOOPBACK, "containerStatuses": [self._status()]}

    def look(self) -> bool:
        """Whether it has ended since it was last looked at, which its document then says."""
        if self.process.poll() is None or self.document["status"]["phase"] != "Running":
            return False
        phase = "Failed" if self.process.returncode else "Succeeded"
        self.document["status"] |= {"phase": phase, "containerStatuses": [self._status()]}
        return True

    def has(self, wanted: str) -> bool:
        """Whether its labels are as `name=value` or `name!=value` says."""
        name, _, value = wanted.partition("=")
        labels = self.document["metadata"].get("labels", {})
        if name.endswith("!"):
            return bool(labels.get(name.removesuffix("!")) != value)
        return bool(labels.get(name) == value)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(patient(END_SECONDS))

    def _status(self) -> Document:
        code = self.process.poll()
        state = {"running": {}} if code is None else {"terminated": {"exitCode": abs(code)}}
        (container,) = self.document["spec"]["containers"]
        return {"name": container["name"], "ready": code is None, "restartCount": 0, "state": state}

    def _variable(self, told: Mapping[str, Any]) -> tuple[str, str]:
        if "valueFrom" in told:
            field = told["valueFrom"]["fieldRef"]["fieldPath"]
            return told["name"], {"status.podIP": LOOPBACK, "metadata.name": self.name}[field]
        value = told.get("value", "")
        for mounted, place in self._own.items():
            value = value.replace(mounted, str(place))
        return told["name"], value


def _environment() -> dict[str, str]:
    """What a container of the image has: this Python first, and nothing of who starts it."""
    kept = {name: os.environ[name] for name in ("JAVA_HOME", "JDK_JAVA_OPTIONS", "HOME") if name in os.environ}
    return kept | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "SPARK_LOCAL_IP": LOOPBACK}

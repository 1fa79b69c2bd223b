"""The manifests of docs/kubernetes, held to Kubernetes' own schemas, to one another and to the settings."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from app.base.files.signing import signing_key
from app.base.setting_groups import PREFIX
from app.base.settings import Settings, unknown_variables
from app.edge.cli.main import COMMANDS

CHECKOUT = Path(__file__).parents[3]
FILES = sorted((CHECKOUT / "docs" / "kubernetes").glob("*.yaml"))
VERSIONS = ("1.29", "1.31", "1.33")
Document = dict[str, Any]


def documents(file: Path) -> list[Document]:
    return list(yaml.safe_load_all(file.read_text()))


ALL = [one for file in FILES for one in documents(file)]
NAMED = {(one["kind"], one["metadata"]["name"]): one for one in ALL}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_document_is_what_its_kind_may_be(file: Path, version: str) -> None:
    for document in documents(file):
        kubernetes_validate.validate(document, version, strict=True)
    assert documents(file)


def test_a_misspelt_field_would_be_seen() -> None:
    (budget,) = (one for one in ALL if one["kind"] == "PodDisruptionBudget")
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(budget | {"spec": budget["spec"] | {"maxUnavailabel": 1}}, "1.31", strict=True)


def test_the_template_of_executors_is_a_pod() -> None:
    kubernetes_validate.validate(executor(), "1.31", strict=True)


def test_all_but_the_namespace_are_in_it() -> None:
    (namespace,) = (one for one in ALL if one["kind"] == "Namespace")
    assert {one["metadata"].get("namespace") for one in ALL if one is not namespace} == {namespace["metadata"]["name"]}


def test_every_variable_is_a_setting_and_together_they_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for pod in pods():
        told = environment(pod)
        ours = {name: value for name, value in told.items() if name.startswith(PREFIX)}
        assert unknown_variables(ours) == []
        with monkeypatch.context() as patched:
            for name, value in ours.items():
                patched.setenv(name, value)
            Settings.load()


def test_a_worker_is_told_to_others_by_the_name_that_its_set_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = NAMED["StatefulSet", "worker"]
    for name, value in environment(workers["spec"]["template"]["spec"]).items():
        monkeypatch.setenv(name, value)
    worker = Settings.load().worker
    service = NAMED["Service", workers["spec"]["serviceName"]]
    assert worker.url == f"https://worker-0.{service['metadata']['name']}.flagfall.svc:{worker.http_port}"
    assert worker.group_instance_id == "worker-0"
    assert service["spec"]["clusterIP"] == "None"
    assert (workers["spec"]["replicas"]) <= Settings.load().topics.partitions
    asked = NAMED["CronJob", "reconcile"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["args"]
    assert worker.url in asked


def test_a_worker_has_the_time_to_commit_before_it_is_killed() -> None:
    grace = NAMED["StatefulSet", "worker"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > Settings.load().worker.stop_timeout_seconds


def test_services_budgets_and_policies_choose_pods_that_there_are() -> None:
    labels = [one["metadata"]["labels"] for one in templates()]
    chosen = [one["spec"]["selector"] for one in ALL if one["kind"] == "Service"]
    chosen += [one["spec"]["selector"]["matchLabels"] for one in ALL if one["kind"] == "PodDisruptionBudget"]
    for selector in chosen:
        assert any(selector.items() <= of_pod.items() for of_pod in labels), selector


def test_commands_are_those_that_there_are_and_ports_those_that_they_listen_at() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        if "args" in container:
            assert container["args"][0] in COMMANDS
        for port in container.get("ports", []):
            assert port["containerPort"] == Settings.load().worker.http_port


def test_every_volume_that_is_mounted_is_there_and_no_container_may_become_root() -> None:
    for pod in pods():
        (container,) = pod["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_private_keys_reach_the_program_with_modes_that_it_takes(tmp_path: Path) -> None:
    """As a kubelet writes them: root's, and for the group of `fsGroup` to read; the rest is `defaultMode`."""
    modes = {}
    for pod in pods():
        for variable, file in environment(pod).items():
            if variable.endswith(("_KEY", "_KEY_FILE")):
                modes[variable] = mode_of(pod, file) | 0o440
    assert sorted(modes) == ["FLAGFALL_AUDIT_KEY", "FLAGFALL_WORKER_HTTP_TLS_KEY_FILE"]
    for variable, mode in modes.items():
        key = tmp_path / variable
        signing_key(key)
        key.chmod(mode)
        signing_key(key)


def test_the_command_of_the_page_makes_a_key_that_signs(tmp_path: Path) -> None:
    (command,) = re.findall(r"`(openssl [^`]+)`", (CHECKOUT / "docs" / "kubernetes.md").read_text())
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True, timeout=60)
    signing_key(tmp_path / "audit.pem", may_make=False)


def test_images_are_the_one_that_compose_builds() -> None:
    image = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())["services"]["topics"]["image"]
    assert {container["image"] for pod in pods() for container in pod["containers"] if "image" in container} == {image}
    assert f" {image}\n" in NAMED["ConfigMap", "spark"]["data"]["spark-defaults.conf"]


def test_the_page_names_every_file_and_every_secret_that_has_to_be_made() -> None:
    page = (CHECKOUT / "docs" / "kubernetes.md").read_text()
    secrets = {found for one in ALL for found in named_secrets(one)} | set(named_secrets(executor()))
    assert [name for name in {*(file.name for file in FILES), *secrets} if f"`{name}`" not in page] == []


def executor() -> Document:
    """The pod that Spark makes its executors from, with the image that it adds."""
    pod: Document = yaml.safe_load(NAMED["ConfigMap", "spark"]["data"]["executor.yaml"])
    return pod


def templates() -> Iterator[Document]:
    for one in ALL:
        spec = one["spec"]["jobTemplate"]["spec"] if one["kind"] == "CronJob" else one.get("spec", {})
        if "containers" in spec.get("template", {}).get("spec", {}):
            yield spec["template"]
    yield executor()


def pods() -> list[Document]:
    return [one["spec"] for one in templates()]


def environment(pod: Document) -> dict[str, str]:
    """What the pod's container is told; of secrets some value, of fields what the first worker has."""
    (container,) = pod["containers"]
    told = dict[str, str]()
    for source in container.get("envFrom", []):
        told |= NAMED["ConfigMap", source["configMapRef"]["name"]]["data"]
    for variable in container.get("env", []):
        source = variable.get("valueFrom", {})
        value = "worker-0" if "fieldRef" in source else variable.get("value", "secret")
        told[variable["name"]] = value.replace("$(POD_NAME)", told.get("POD_NAME", ""))
    return told


def mode_of(pod: Document, file: str) -> int:
    """Of a file of a secret that the pod's container sees."""
    (container,) = pod["containers"]
    (mount,) = (one for one in container["volumeMounts"] if one["mountPath"] == str(Path(file).parent))
    (volume,) = (one for one in pod["volumes"] if one["name"] == mount["name"])
    assert pod["securityContext"]["fsGroup"], "a secret's files are root's: none of the group may read one of mode 0440"
    mode: int = volume["secret"].get("defaultMode", 0o644)
    return mode


def named_secrets(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        if "secretName" in document:
            yield document["secretName"]
        if "secretKeyRef" in document:
            yield document["secretKeyRef"]["name"]
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    for part in parts:
        yield from named_secrets(part)

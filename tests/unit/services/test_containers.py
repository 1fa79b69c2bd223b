"""Dockerfile and docker-compose.yml, checked as files: what they name must exist, and nothing is open to the world."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from app.base.files.verdicts import RUNS
from app.base.setting_groups import PREFIX
from app.base.settings import Settings, unknown_variables
from app.edge.cli.jars import ALL_SETS
from app.edge.cli.machine import services as services_command
from app.edge.cli.main import COMMANDS

CHECKOUT = Path(__file__).parents[3]
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
    return document


def test_the_parts_are_there(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {
        "folders",
        "kafka",
        "registry",
        "topics",
        "doors",
        "worker-1",
        "worker-2",
        "reconcile",
    }


def test_everything_that_stays_up_has_a_health_check(compose: dict[str, Any]) -> None:
    for name in ("kafka", "registry", "worker-1", "worker-2"):
        assert compose["services"][name]["healthcheck"]["test"][0] == "CMD", name


def test_who_waits_waits_for_something_that_can_be_reached(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services, f"{name} waits for {other}"
            if how["condition"] == "service_healthy":
                assert "healthcheck" in services[other]


def test_a_workers_address_leads_to_it_from_outside_and_from_every_other_worker(compose: dict[str, Any]) -> None:
    """The address that is told has to be right for callers of the published port and in the workers' own network."""
    services = compose["services"]
    urls = set()
    for name in ("worker-1", "worker-2"):
        worker = Settings.load(worker=settings_of(services[name], "worker")).worker
        assert (worker.url, worker.http_host) == (f"http://localhost:{worker.http_port}", "0.0.0.0")
        assert services[name]["network_mode"] == services["reconcile"]["network_mode"] == "service:doors"
        assert f"127.0.0.1:{worker.http_port}:{worker.http_port}" in services["doors"]["ports"]
        urls.add(worker.url)
    assert len(urls) == 2
    assert services["reconcile"]["command"][-1] in urls


def test_who_shares_a_network_names_no_ports_and_no_host_of_its_own(compose: dict[str, Any]) -> None:
    """An engine refuses both."""
    for service in compose["services"].values():
        assert "network_mode" not in service or not {"ports", "hostname", "networks"} & set(service)


def test_every_named_volume_is_given_to_its_writer_before_anyone_uses_it(compose: dict[str, Any]) -> None:
    """Each belongs to root at first. Kafka's image has the directory, with its owner, which a new volume takes."""
    services = compose["services"]
    given = {volume.partition(":")[0]: volume.split(":")[1] for volume in services["folders"]["volumes"]}
    assert given.keys() == compose["volumes"].keys() - {"kafka-data"}
    assert services["folders"]["user"] == "root"
    assert all(folder in services["folders"]["entrypoint"][-1] for folder in given.values())
    for name, service in services.items():
        mounted = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert mounted <= compose["volumes"].keys()
        if mounted & given.keys():
            assert "folders" in {name, *waits_for(services, name)}, name


def test_workers_read_the_reports_that_the_spark_job_writes(compose: dict[str, Any]) -> None:
    services = compose["services"]
    (data_dir,) = re.findall(r"FLAGFALL_DATA_DIR=(\S+)", DOCKERFILE)
    reports = f"reports:{Path(data_dir) / RUNS}"
    assert services["reconcile"]["volumes"] == [reports]
    assert services["worker-1"]["volumes"] == services["worker-2"]["volumes"] == [f"{reports}:ro"]
    assert f"{data_dir}/{RUNS} " in DOCKERFILE


def test_the_image_carries_the_spark_jobs_jars_for_the_user_that_runs_it() -> None:
    assert DOCKERFILE.index("USER flagfall") < DOCKERFILE.index("RUN flagfall services fetch spark")
    assert re.search(r"install -d -o flagfall .*/var/cache/flagfall$", DOCKERFILE, re.MULTILINE)


def test_jars_are_fetched_of_the_parts_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[Any] = []
    monkeypatch.setattr(services_command, "fetch_missing", lambda _, sets: fetched.append(tuple(sets)))
    for arguments in (["spark"], []):
        assert CliRunner().invoke(services_command.command, ["fetch", *arguments]).exit_code == 0
    assert fetched == [("spark",), ALL_SETS]
    assert CliRunner().invoke(services_command.command, ["fetch", "flink"]).exit_code == 2


def settings_of(service: dict[str, Any], group: str) -> dict[str, str]:
    """The group's fields that a container's variables set."""
    prefix = f"{PREFIX}{group.upper()}_"
    told = service["environment"].items()
    return {name.removeprefix(prefix).lower(): value for name, value in told if name.startswith(prefix)}


def waits_for(services: dict[str, Any], name: str) -> set[str]:
    """All that has to be there before a container starts."""
    direct = set(services[name].get("depends_on", {}))
    return direct.union(*(waits_for(services, other) for other in direct))


def test_published_ports_are_loopback_only(compose: dict[str, Any]) -> None:
    published = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_every_variable_is_a_setting(compose: dict[str, Any]) -> None:
    told: dict[str, str] = dict(re.findall(r"(FLAGFALL_\w+)=(\S+)", DOCKERFILE))
    for service in compose["services"].values():
        told |= {k: v for k, v in service.get("environment", {}).items() if k.startswith("FLAGFALL_")}
    assert unknown_variables(told) == []


def test_every_command_exists(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        if service["image"].startswith("flagfall") and "command" in service:
            assert service["command"][0] in COMMANDS


def test_every_option_of_a_command_is_one_that_it_has(compose: dict[str, Any]) -> None:
    name, *arguments = compose["services"]["reconcile"]["command"]
    told = subprocess.run(
        [sys.executable, "-m", "app.edge.cli.main", name, "--help"], capture_output=True, text=True, check=True
    )
    assert all(argument in told.stdout for argument in arguments if argument.startswith("--"))


def test_what_the_image_copies_exists() -> None:
    for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = line.split()
        for source in sources:
            assert (CHECKOUT / source).exists(), source


def test_images_are_pinned_and_not_run_as_root(compose: dict[str, Any]) -> None:
    images = [service["image"] for service in compose["services"].values()]
    images += re.findall(r"^ARG BASE=(\S+)\nFROM \${BASE}$", DOCKERFILE, re.MULTILINE)
    assert len(images) == len(compose["services"]) + 1
    assert all(re.search(r":\d", image) for image in images)
    assert "USER flagfall" in DOCKERFILE


def test_a_base_of_another_python_than_the_releases_is_refused() -> None:
    (asks,) = re.findall(r"^RUN (python -c .+)$", DOCKERFILE.partition("\n\nRUN apt-get")[0], re.MULTILINE | re.DOTALL)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def said(python: str) -> str:
        told = subprocess.run(
            ["sh", "-c", asks], env=environment | {"PYTHON": python}, capture_output=True, text=True, check=False
        )
        assert bool(told.returncode) == bool(told.stderr)
        return told.stderr

    assert said("") == said(here) == ""
    assert said("2.7") == f"the base has Python {here}, the release is of 2.7\n"


def test_the_check_that_ci_runs_is_executable() -> None:
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)

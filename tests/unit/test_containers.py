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

from app.base.settings import unknown_variables
from app.edge.cli.main import COMMANDS

CHECKOUT = Path(__file__).parent.parent.parent
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
    return document


def test_the_parts_are_there(compose: dict[str, Any]) -> None:
    assert set(compose["services"]) == {"kafka", "registry", "topics", "worker-1", "worker-2", "reconcile"}


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
    images += re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.search(r":\d", image) for image in images)
    assert "USER flagfall" in DOCKERFILE


def test_the_check_that_ci_runs_is_executable() -> None:
    assert os.access(CHECKOUT / ".ci" / "run", os.X_OK)

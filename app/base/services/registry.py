"""Apicurio registry, spoken to through its Confluent API, its schemas in a file beside Kafka's data.

Both must survive a restart together: a record names its schema by the registry's number.
"""

from __future__ import annotations

from typing import Any

from app.base.addresses import LOOPBACK
from app.base.asking import Unanswered, get, put
from app.base.registry.compatibility import COMPATIBILITY
from app.base.service_settings import ServicesSettings
from app.base.services.class_archives import ClassArchive
from app.base.services.errors import StartFailed
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.services.processes import Daemon
from app.base.settings import Settings

NAME = "registry"


def ports(services: ServicesSettings) -> dict[str, int]:
    """What the registry listens on, by field."""
    return {"registry_port": services.registry_port}


def is_here(settings: Settings) -> bool:
    """Whether the registry that is set is the one on this machine."""
    return settings.registry_url == settings.local_registry


def address(settings: Settings) -> str:
    """Of the registry that is set."""
    return settings.registry_url


def daemon(settings: Settings) -> Daemon:
    """The registry, ready to start. Raises JarError, JavaNotFound."""
    folder = settings.data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    archive = class_archive(settings)
    services = settings.services
    properties = {
        "quarkus.http.host": LOOPBACK,
        "quarkus.http.port": services.registry_port,
        "quarkus.log.console.json": "false",
        "quarkus.banner.enabled": "false",
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        "apicurio.datasource.url": f"jdbc:h2:file:{folder / 'schemas'}",
        "java.net.preferIPv4Stack": "true",
    }
    options = [f"-D{key}={value}" for key, value in properties.items()]
    heap = f"-Xmx{services.registry_heap_mb}m"
    return Daemon(
        NAME,
        (str(archive.java.executable), heap, *archive.options(), *options, "-jar", archive.class_path),
        settings.data_dir / "logs" / f"{NAME}.log",
        settings.data_dir / f"{NAME}.pid.json",
        ports(services),
    )


def class_archive(settings: Settings) -> ClassArchive:
    """Of the registry, whether made or not. Raises JarError, JavaNotFound."""
    (application,) = fetch(NAME, settings.cache_dir)
    runner = application / f"{application.name.removesuffix('-all')}-runner.jar"
    return ClassArchive(NAME, find_java(), str(runner), settings.cache_dir)


def answers(settings: Settings) -> bool:
    """Whether the local registry lists its subjects."""
    return _lists_subjects(settings.local_registry)


def reachable(settings: Settings) -> bool:
    """Whether the registry that is set lists its subjects, with the password that is set."""
    password = settings.registry_password.get_secret_value()
    login = (settings.registry_username, password) if settings.registry_username else None
    return _lists_subjects(settings.registry_url, login=login, is_proxied=True)


def prepare(settings: Settings) -> None:
    """Refuse, from now on, schemas that old readers or old records could not live with. Raises
    StartFailed."""
    url = f"{settings.local_registry}/config"
    answer = put(url, {"compatibility": COMPATIBILITY}, timeout_seconds=10.0)
    if not answer.is_ok:
        raise StartFailed(f"The registry refused the rule {COMPATIBILITY} at {url}: {answer.problem}")


def _lists_subjects(url: str, **options: Any) -> bool:
    try:
        return get(f"{url.rstrip('/')}/subjects", timeout_seconds=2.0, **options).is_ok
    except Unanswered:
        return False

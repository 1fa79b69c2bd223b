"""Apicurio registry, spoken to through its Confluent API, its schemas in a file beside Kafka's data.

Both must survive a restart together: a record names its schema by the registry's number.
"""

from __future__ import annotations

from app.base.services.errors import StartFailed
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.services.processes import Daemon
from app.base.settings import LOOPBACK, Settings

NAME = "registry"
COMPATIBILITY = "FULL_TRANSITIVE"
"""Apicurio's own default is NONE, under which any schema is accepted."""


def daemon(settings: Settings) -> Daemon:
    """The registry, ready to start. Raises JarError, JavaNotFound."""
    folder = settings.data_dir / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (application,) = fetch(NAME, settings.cache_dir)
    services = settings.services
    properties = {
        "quarkus.http.host": LOOPBACK,
        "quarkus.http.port": services.registry_port,
        "quarkus.management.host": LOOPBACK,  # 0.0.0.0 otherwise
        "quarkus.management.port": services.registry_management_port,
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
        (
            str(find_java().executable),
            heap,
            *options,
            "-jar",
            str(application / f"{application.name.removesuffix('-all')}-runner.jar"),
        ),
        settings.data_dir / "logs" / f"{NAME}.log",
        settings.data_dir / f"{NAME}.pid.json",
        {name: getattr(services, name) for name in ("registry_port", "registry_management_port")},
    )


def answers(settings: Settings) -> bool:
    """Whether the local registry lists its subjects."""
    import httpx

    try:
        return (
            httpx.get(f"{settings.local_registry}/subjects", timeout=2.0, trust_env=False).status_code == 200
        )
    except httpx.HTTPError:
        return False


def set_compatibility(settings: Settings) -> None:
    """Refuse, from now on, schemas that old readers or old records could not live with. Raises
    StartFailed."""
    import httpx

    url = f"{settings.local_registry}/config"
    answer = httpx.put(url, json={"compatibility": COMPATIBILITY}, timeout=10.0, trust_env=False)
    if answer.status_code != 200:
        raise StartFailed(
            f"The registry refused the rule {COMPATIBILITY} at {url}: {answer.status_code} {answer.text}"
        )

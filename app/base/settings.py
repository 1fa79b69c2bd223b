"""Everything that can be set, in one frozen object built from the environment.

Variables are named ``FLAGFALL_<FIELD>`` for the fields of :class:`Settings` and ``FLAGFALL_<GROUP>_<FIELD>``
for those of its groups: ``FLAGFALL_DATA_DIR``, ``FLAGFALL_KAFKA_BOOTSTRAP_SERVER``,
``FLAGFALL_SERVICES_KAFKA_PORT``. No other variable is read. Units stand in the names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict
from pydantic_settings import SettingsError as NotJson

from app.base.access_settings import AccessSettings
from app.base.addresses import LOOPBACK
from app.base.service_settings import ServicesSettings
from app.base.setting_groups import (
    PREFIX,
    HttpSettings,
    KafkaSettings,
    LogFormat,
    SettingsGroup,
    SparkSettings,
    TopicSettings,
    WorkerSettings,
    variable,
)


class SettingsError(ValueError):
    """A setting cannot be used. The message names the variable; correct it and start again."""


class Settings(BaseSettings):
    """All settings. Make it with :meth:`load`, once, at the edge, and pass it (or a group of it) on."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="_", env_nested_max_split=1, frozen=True, extra="forbid"
    )

    app_id: str = Field(default="flagfall", pattern=r"^[a-z][a-z0-9-]*$", max_length=100)
    """Begins the names of consumer group, transactional ids and changelogs; with a source's, which are bounded so, too,
    Kafka takes it as a topic's."""
    data_dir: Path = Field(default_factory=lambda: _home("XDG_STATE_HOME", ".local/state"))
    """What the services store, their logs and pid files; runs and reports."""
    cache_dir: Path = Field(default_factory=lambda: _home("XDG_CACHE_HOME", ".cache"))
    """The jars. Safe to delete: they are fetched again."""
    definitions: Path | None = None
    """A file of sources and views of your own (docs/definitions.md). Every worker and command needs the same one."""
    audit_key: Path | None = None
    """The private key that runs of ``flagfall reconcile`` are signed with, made when it is not there. Default:
    ``audit.pem`` in the data directory."""
    history_dir: Path | None = None
    """Where ``flagfall reconcile`` keeps what it has read, so that the next run reads only what came since, and workers
    answer about windows that have left their tables (docs/history.md). Default: nowhere, each run reads all."""
    log_format: LogFormat = "text"
    """How a line of the log is written: for readers, or as a JSON object, for programs (docs/monitoring.md)."""
    registry_url: str = Field(default="", pattern=r"^(https?://.+)?$")
    """The schema registry's Confluent API. Default: the registry of ``flagfall services``."""
    registry_username: str = ""
    registry_password: SecretStr = SecretStr("")
    lifecycle: bool = False
    """Have the topics of rides' starts, ends and fares (``flagfall generate --lifecycle``)."""
    branches: bool = False
    """Send every usable ride on by its amount, to ``amounts.high`` or ``amounts.low``. The same for all workers."""
    cleanliness: bool = False
    """Have the view ``cleanliness``: how many rides are odd, by rule. The same for all workers."""
    questions: bool = False
    """Have the views of docs/questions.md: routes, trips by the minute, tips. The same for all workers."""

    kafka: KafkaSettings = KafkaSettings()
    worker: WorkerSettings = WorkerSettings()
    http: HttpSettings = HttpSettings()
    access: AccessSettings = AccessSettings()
    topics: TopicSettings = TopicSettings()
    spark: SparkSettings = SparkSettings()
    services: ServicesSettings = ServicesSettings()

    @classmethod
    def load(cls, **overrides: Any) -> Settings:
        """Read the environment; ``overrides`` win over it.

        Raises SettingsError naming each wrong variable, what it holds (never a password) and what is
        expected.
        """
        try:
            return cls(**overrides)
        except ValidationError as error:
            raise SettingsError("\n".join(_explain(error))) from None
        except NotJson as error:
            raise SettingsError("\n".join(_not_json(os.environ))) from error

    @model_validator(mode="after")
    def _fill_local_addresses(self) -> Settings:
        """Addresses that were not set follow the local services' ports."""
        if not self.kafka.bootstrap_server:
            kafka = self.kafka.model_copy(update={"bootstrap_server": self.local_kafka})
            object.__setattr__(self, "kafka", kafka)
        if not self.registry_url:
            object.__setattr__(self, "registry_url", self.local_registry)
        return self

    @field_validator("data_dir", "cache_dir", "definitions", "audit_key", "history_dir", mode="before")
    @classmethod
    def _empty_is_unset(cls, path: Any, field: ValidationInfo) -> Any:
        """An empty path would be the directory that the process stands in."""
        assert field.field_name is not None  # it is a field's validator
        default = cls.model_fields[field.field_name].get_default(call_default_factory=True, validated_data={})
        return default if path == "" else path

    @field_validator("registry_url")
    @classmethod
    def _is_url(cls, url: str) -> str:
        """ValueError for what looks like one and is none, as `http://[`."""
        urlsplit(url).port  # noqa: B018
        return url

    @field_validator("data_dir", "cache_dir", "definitions", "audit_key", "history_dir")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """A child process may run elsewhere, and the registry's database takes no relative path."""
        return None if path is None else path.absolute()

    @property
    def audit_key_file(self) -> Path:
        """Where the key is that runs are signed with."""
        return self.audit_key or self.data_dir / "audit.pem"

    @property
    def local_kafka(self) -> str:
        """Where the broker of ``flagfall services`` answers without a password."""
        return f"{LOOPBACK}:{self.services.kafka_port}"

    @property
    def local_registry(self) -> str:
        """Where the registry of ``flagfall services`` answers."""
        return f"http://{LOOPBACK}:{self.services.registry_port}/apis/ccompat/v7"

    def environment(self) -> dict[str, str]:
        """The variables from which :meth:`load` makes these settings again: for a child process. Holds
        passwords."""
        flat: dict[str, Any] = {}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, SettingsGroup):
                flat |= {f"{name}_{field}": getattr(value, field) for field in type(value).model_fields}
            else:
                flat[name] = value
        return {
            variable(name): value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in flat.items()
            if value is not None
        }


def known_variables() -> set[str]:
    """Every variable that sets something, those of whole groups (as JSON) among them."""
    known = set()
    for name, field in Settings.model_fields.items():
        known.add(variable(name))
        if isinstance(field.default, SettingsGroup):
            known |= {variable(f"{name}_{inner}") for inner in type(field.default).model_fields}
    return known


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Variables that begin like ours and set nothing; those of the tests, ``FLAGFALL_TEST_*``, apart."""
    ours = {name for name in environ if name.startswith(PREFIX) and not name.startswith(PREFIX + "TEST_")}
    return sorted(ours - known_variables())


def _home(xdg_variable: str, below_home: str) -> Path:
    base = os.environ.get(xdg_variable)
    return (Path(base) if base else Path.home() / below_home) / "flagfall"


def _not_json(environ: Mapping[str, str]) -> list[str]:
    """One line for each whole group that is set, of which one at least cannot be read. What it holds may be secret."""
    groups = [
        variable(name) for name, field in Settings.model_fields.items() if isinstance(field.default, SettingsGroup)
    ]
    said = "it stands for a whole group, so it must be JSON; or set the group's variables one by one"
    return [f"{name}: {said}" for name in groups if name in environ]


def _explain(error: ValidationError) -> list[str]:
    """One line for each mistake. The offered value is shown unless the field may hold a secret."""
    lines = []
    for mistake in error.errors(include_url=False):
        where = variable("_".join(str(part) for part in mistake["loc"]))
        if mistake["type"] == "extra_forbidden":
            lines.append(f"{where}: there is no such setting (docs/services.md lists them)")
            continue
        given = mistake["input"]
        shown = f" (it is {given!r})" if isinstance(given, str | int | float) and not _is_secret(where) else ""
        hint = mistake["msg"].removeprefix("Value error, ")
        lines.append(f"{where}{'_*' if isinstance(given, dict | SettingsGroup) else ''}: {hint}{shown}")
    return lines


def _is_secret(name: str) -> bool:
    return "PASSWORD" in name or "TOKEN" in name

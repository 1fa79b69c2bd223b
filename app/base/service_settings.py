"""The broker, the registry and the Connect worker that run on this machine."""

from __future__ import annotations

from pydantic import Field, SecretStr, model_validator

from app.base.setting_groups import Port, SettingsGroup, WaitSeconds


class ServicesSettings(SettingsGroup):
    """The local broker, registry and Connect that ``flagfall services up`` starts. All listen on loopback only.

    The default ports are uncommon on purpose: a Kafka that is already here keeps its own.
    """

    kafka_port: Port = 19092
    kafka_controller_port: Port = 19093
    sasl_port: Port | None = None
    """Opens a second listener that asks for a password (SASL_PLAINTEXT with PLAIN or SCRAM)."""
    sasl_username: str = "flagfall"
    sasl_password: SecretStr = SecretStr("")
    """Required with ``sasl_port``."""
    registry_port: Port = 18080
    connect_port: Port = 18083
    """Of Kafka Connect's REST API, started by ``--with connect`` alone."""
    kafka_heap_mb: int = Field(default=512, ge=128)
    """320 MB are resident after a demo."""
    registry_heap_mb: int = Field(default=384, ge=128)
    """240 MB are resident after a demo."""
    connect_heap_mb: int = Field(default=384, ge=128)
    min_session_timeout_ms: int = Field(default=1_000, ge=1)
    """The shortest session a worker may ask for; Kafka's own 6 s makes tests of dead workers slow."""
    start_timeout_seconds: WaitSeconds = 60.0
    """Time for both to answer; 4 to 8 s are usual, a slow or busy machine takes longer."""
    stop_timeout_seconds: WaitSeconds = 20.0
    """Time between TERM and KILL; Kafka closes its logs in it, and starts faster for it."""

    @model_validator(mode="after")
    def _fits_together(self) -> ServicesSettings:
        named = {name: getattr(self, name) for name in PORT_FIELDS if getattr(self, name) is not None}
        for name, port in named.items():
            others = [other for other in named if other != name and named[other] == port]
            if others:
                raise ValueError(f"{name} and {others[0]} are both {port}")
        if self.sasl_port is not None and not self.sasl_password.get_secret_value():
            raise ValueError("sasl_port needs sasl_password")
        return self


PORT_FIELDS = ("kafka_port", "kafka_controller_port", "sasl_port", "registry_port", "connect_port")

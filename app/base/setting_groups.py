"""What can be set, in groups: how the cluster is reached, a worker, its HTTP, new topics, the local services.

`app.base.settings` reads them all from the environment. Units stand in the names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, field_validator, model_validator

from app.base.addresses import LOOPBACK, in_url, is_every_address, reaches_itself_by, require_ports

PREFIX = "FLAGFALL_"

Port = Annotated[int, Field(ge=1, le=65535)]
WaitSeconds = Annotated[float, Field(gt=0, le=86_400)]
WaitSecondsOrNever = Annotated[float, Field(ge=0, le=365 * 86_400)]
FileOrNone = Annotated[Path | None, BeforeValidator(lambda path: None if path == "" else path)]
"""A variable that is set to nothing is not set."""
LogFormat = Literal["text", "json"]
SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]


def variable(name: str) -> str:
    """The environment variable of a field: ``variable("services_kafka_port")``."""
    return (PREFIX + name).upper()


class SettingsGroup(BaseModel):
    """Refuses what it does not know: a mistyped security setting must not be silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class KafkaSettings(SettingsGroup):
    """How every client reaches the cluster; :mod:`app.base.kafka.clients` translates it for each library."""

    bootstrap_server: str = ""
    """``host:port[,host:port]``. Default: the broker of ``flagfall services``."""
    security_protocol: SecurityProtocol = "PLAINTEXT"
    sasl_mechanism: SaslMechanism = "PLAIN"
    """Used with ``SASL_*`` only."""
    sasl_username: str = ""
    sasl_password: SecretStr = SecretStr("")
    ssl_ca_file: FileOrNone = None
    """PEM file of the brokers' certificate authorities. Default: the ones that the system trusts."""
    ssl_cert_file: FileOrNone = None
    """PEM file of this client's certificate, for brokers that ask for one; together with ``ssl_key_file``."""
    ssl_key_file: FileOrNone = None
    """PEM file of the certificate's private key, PKCS#8 (what Java reads)."""
    ssl_key_password: SecretStr = SecretStr("")

    @field_validator("bootstrap_server")
    @classmethod
    def _has_ports(cls, value: str) -> str:
        return require_ports(value)

    @model_validator(mode="after")
    def _is_complete(self) -> KafkaSettings:
        if self.security_protocol.startswith("SASL_") and not (
            self.sasl_username and self.sasl_password.get_secret_value()
        ):
            raise ValueError(f"{self.security_protocol} needs sasl_username and sasl_password")
        if (self.ssl_cert_file is None) != (self.ssl_key_file is None):
            raise ValueError("ssl_cert_file and ssl_key_file come together")
        return self


class WorkerSettings(SettingsGroup):
    """One Faust worker: its HTTP address and how it fetches."""

    http_host: str = LOOPBACK
    """Address to listen on. Beyond loopback it asks for keys and speaks TLS (docs/access.md)."""
    http_port: Port = 18081
    """A second worker on the same machine needs another one."""
    http_tls_cert_file: FileOrNone = None
    """PEM file of its certificate and those above it; with ``http_tls_key_file`` it speaks TLS, and nothing else."""
    http_tls_key_file: FileOrNone = None
    """PEM file of the certificate's private key."""
    advertised_url: str = Field(default="", pattern=r"^(https?://[^/?#\s]+(/[^?#\s]*)?)?$")
    """Where workers and callers elsewhere reach this one, as ``http://worker-1:18081``. Default: where it listens."""
    session_timeout_seconds: WaitSeconds = 10.0
    """A dead worker's tasks are given away after this time; a shorter one takes a pause for a death."""
    heartbeat_interval_seconds: WaitSeconds = 1.0
    """A tenth of the session time: lost ones do no harm; a dead worker is noticed within a second of its session."""
    rebalance_timeout_seconds: WaitSeconds = 30.0
    """Time in which every worker must answer a rebalance; longer than the longest batch."""
    group_instance_id: str = ""
    """A name that is this worker's own, and stays with it and its address: back within the session time, it causes no
    rebalance."""
    fetch_max_wait_ms: int = Field(default=40, ge=1, le=60_000)
    """How long the broker gathers records before it answers: most of a ride's delay, and of a quiet worker's cost."""
    fetch_min_bytes: int = Field(default=250_000, ge=1, le=1 << 30)
    """Bytes for which the broker answers at once: 50,000 rides a second and more; then batches are large anyway."""
    hold_records: int = Field(default=40_000, ge=1, le=10_000_000)
    """Records in the largest batch. More is no faster, and holds back rebalances."""
    transactions_per_second: float = Field(default=100.0, ge=0, le=1e6)
    """So many at most, all tasks of the worker together, unless they are large: many quiet tasks share them. 0: any."""
    idle_after_seconds: WaitSecondsOrNever = 0.0
    """A topic-partition quiet for so long holds back no final result while others move; 0: it does for ever."""
    standby: bool = False
    """Keep a warm copy of the tasks that other workers own, in as much memory as they take: taken over at once."""
    stalled_seconds: WaitSeconds = 30.0
    """A worker that has input and gets nowhere for this long says so: in the log, in ``/metrics``, at ``/livez``."""
    stalled_exit_seconds: WaitSecondsOrNever = 120.0
    """And after this long it ends, with exit code 75, to be started again; 0: never."""
    stop_timeout_seconds: WaitSeconds = 10.0
    """A worker told to stop that has not managed it by then, as nobody answers it, ends with exit code 74."""

    @property
    def url(self) -> str:
        """What others are told: in redirects, and by the group's leader as the owner of this worker's tasks."""
        return (self.advertised_url or f"{self.scheme}://{in_url(self.http_host)}:{self.http_port}").rstrip("/")

    @property
    def scheme(self) -> str:
        """In which it is asked."""
        return "http" if self.http_tls_cert_file is None else "https"

    @property
    def local_host(self) -> str:
        """By which address a process on this machine reaches the worker."""
        return reaches_itself_by(self.http_host)

    @property
    def local_url(self) -> str:
        """Where a process on this machine finds the worker, whatever others are told."""
        return f"{self.scheme}://{in_url(self.local_host)}:{self.http_port}"

    @model_validator(mode="after")
    def _can_be_reached(self) -> WorkerSettings:
        told = urlsplit(self.url)
        if told.username is not None:
            raise ValueError(
                f"{variable('worker_advertised_url')} has a user before its host, and everybody would be told it: "
                "leave it out, as http://worker-1:18081"
            )
        if is_every_address(told.hostname or "") or told.port == 0:
            raise ValueError(
                f"others would be told {self.url}, where nobody can be reached: set "
                f"{variable('worker_advertised_url')} to where they reach this worker, as http://worker-1:18081"
            )
        return self

    @model_validator(mode="after")
    def _has_a_key_to_its_certificate(self) -> WorkerSettings:
        if (self.http_tls_cert_file is None) != (self.http_tls_key_file is None):
            raise ValueError("http_tls_cert_file and http_tls_key_file come together")
        return self

    @model_validator(mode="after")
    def _stalls_before_it_ends(self) -> WorkerSettings:
        if 0 < self.stalled_exit_seconds < self.stalled_seconds:
            raise ValueError("stalled_exit_seconds must be 0, or no smaller than stalled_seconds")
        return self

    @model_validator(mode="after")
    def _beats_often_enough(self) -> WorkerSettings:
        if self.heartbeat_interval_seconds >= self.session_timeout_seconds:
            raise ValueError("heartbeat_interval_seconds must be smaller than session_timeout_seconds")
        return self


class HttpSettings(SettingsGroup):
    """What one worker takes on for its callers; what is more is refused, and told why."""

    max_connections: int = Field(default=1_000, ge=8)
    """Connections open at once; another one takes the place of the one that has been quiet for the longest."""
    quiet_seconds: WaitSeconds = 60.0
    """A connection that asks for nothing, or of which the client does not take its answer, is closed after so long."""
    max_unread_mb: int = Field(default=256, ge=1, le=100_000)
    """Memory for answers that clients have yet to take; where it is full, those who take nothing are closed."""
    max_requests: int = Field(default=32, ge=1)
    """Queries answered at once; the loop answers one after another, so more would only wait inside. As many again are
    answered for other workers."""
    max_waiting_requests: int = Field(default=128, ge=0)
    """Queries in line behind these: about 0.2 s of point queries."""
    max_wait_seconds: WaitSeconds = 1.0
    """The longest that a query stands in line before it is told to come back."""
    max_seconds: WaitSeconds = 8.0
    """The longest that one is answered; less than the 10 s for which ``flagfall query`` waits."""
    max_rows: int = Field(default=2_000_000, ge=1)
    """Rows that a worker folds for one request: copied and sorted, some 400 bytes each, in about 2 s."""
    max_exports: int = Field(default=2, ge=1)
    """Exports given at once; each holds a copy of a task's rows until its client has read them."""
    export_idle_seconds: WaitSeconds = 30.0
    """An export, or a stream of changes, of which the client takes nothing for so long is cut."""
    max_streams: int = Field(default=256, ge=1)
    """Streams of changes open at once."""
    max_streamed_mb: int = Field(default=256, ge=1, le=100_000)
    """Memory for the rows that they are about; where it is full, only what another stream asks is asked."""
    max_waits: int = Field(default=256, ge=1)
    """Requests that wait at once for the tables to cover a position."""
    heartbeat_seconds: WaitSeconds = 15.0
    """After so long without a change a stream says that there was none."""
    max_statements: int = Field(default=1, ge=1)
    """Statements of SQL answered at once, each in a process of its own."""
    statement_seconds: WaitSeconds = 8.0
    """The longest that one is answered."""
    statement_memory_mb: int = Field(default=256, ge=32)
    """What DuckDB may allocate for one, beside the rows that it reads."""
    statement_rows: int = Field(default=100_000, ge=1)
    """The most rows that one is answered with; ``meta.cut`` says that there were more."""
    intake: bool = False
    """Take records that callers send (docs/intake.md). The same for all workers."""
    max_intakes: int = Field(default=16, ge=1)
    """Requests that bring records, taken at once, 4 MB each at most. As many again are taken for other workers."""
    max_remembered_mb: int = Field(default=64, ge=1, le=100_000)
    """Memory for the keys of one lane, of four, for a day; requests with new keys are refused when it is full."""
    zone_shapes_file: FileOrNone = None
    """TLC's taxi zones as GeoJSON in degrees, to draw the page's map of. Default: tiles."""


class TopicSettings(SettingsGroup):
    """What new topics are created with; existing ones are checked against it, never changed."""

    partitions: int = Field(default=4, ge=1)
    """Partitions of each ride topic: the number of tasks, and the most workers that can share them."""
    replication_factor: int = Field(default=1, ge=1)
    """1 fits the single local broker; 3 is usual on a real cluster."""


class SparkSettings(SettingsGroup):
    """The Spark that a reconciliation starts."""

    memory_mb: int = Field(default=2048, ge=512)
    """Java's heap; on a cluster that of the driver alone."""
    master: str | None = Field(default=None, pattern=r"^(spark://.+:[0-9]+|yarn|k8s://.+)$")
    """A cluster's, ``spark://host:7077``, ``yarn`` or ``k8s://…`` (docs/operations.md). Default: all cores of this
    machine."""

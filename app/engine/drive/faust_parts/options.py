"""Settings in Faust's words. Apart from `app.base.kafka.clients`, for only the engine may know Faust."""

from __future__ import annotations

from typing import Any

from faust import SASLCredentials, SSLCredentials

from app.base.kafka.clients import ssl_context, with_sasl, with_tls
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings


def faust_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments of ``faust.App``: its broker URLs, and its credentials if there are any."""
    urls = [f"kafka://{address.strip()}" for address in kafka.bootstrap_server.split(",")]
    context = ssl_context(kafka) if with_tls(kafka) else None
    if with_sasl(kafka):
        credentials = SASLCredentials(
            username=kafka.sasl_username,
            password=kafka.sasl_password.get_secret_value(),
            mechanism=kafka.sasl_mechanism,
            ssl_context=context,
        )
        return {"broker": urls, "broker_credentials": credentials}
    return {"broker": urls, "broker_credentials": SSLCredentials(context) if context else None}


def worker_options(settings: Settings) -> dict[str, Any]:
    """The same of what a worker is told beside its cluster, and of what Faust would do by itself and is not to."""
    worker = settings.worker
    return {
        "env": {},  # Faust lets generic variables such as BROKER_URL override code
        "autodiscover": False,
        "datadir": settings.data_dir / "faust",
        "store": "memory://",
        "canonical_url": worker.url,
        "web_enabled": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "topic_partitions": settings.topics.partitions,
        "topic_replication_factor": settings.topics.replication_factor,
        "table_standby_replicas": 0,
        "broker_session_timeout": worker.session_timeout_seconds,
        "broker_heartbeat_interval": worker.heartbeat_interval_seconds,
        "broker_rebalance_timeout": worker.rebalance_timeout_seconds,
        "broker_request_timeout": max(90.0, worker.session_timeout_seconds),
        "consumer_auto_offset_reset": "earliest",
        "consumer_group_instance_id": worker.group_instance_id or None,
        "stream_recovery_delay": 0.0,
        "stream_wait_empty": False,  # tasks are quiesced at a transaction's end; the rest is read again
    }

"""`KafkaSettings` in Faust's words. Apart from `app.base.kafka.clients`, for only the engine may know Faust."""

from __future__ import annotations

from typing import Any

from faust import SASLCredentials, SSLCredentials

from app.base.kafka.clients import ssl_context, with_sasl, with_tls
from app.base.setting_groups import KafkaSettings


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

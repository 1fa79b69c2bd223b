"""Our list of the errors that pass by themselves, held to the classes of the Kafka that is pinned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError
from py4j.java_gateway import GatewayParameters, JavaGateway, is_instance_of, launch_gateway

from app.base.kafka.passing import ANSWERS, OF_KAFKA
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings


@pytest.fixture
def kafka_itself() -> Iterator[JavaGateway]:
    """Java with Kafka's classes, and no broker."""
    jars = fetch("kafka", Settings.load().cache_dir)
    java = str(find_java().executable)
    port = launch_gateway(classpath=":".join(map(str, jars)), java_path=java, die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway
    gateway.shutdown()


def test_every_error_that_kafka_calls_retriable_passes_and_no_other(kafka_itself: JavaGateway) -> None:
    """Those for which librdkafka has no name it passes on to nobody."""
    retriable = "org.apache.kafka.common.errors.RetriableException"
    errors = kafka_itself.jvm.org.apache.kafka.common.protocol.Errors.values()
    with_exception = {error.code(): error.exception() for error in errors if error.exception() is not None}
    named = {value for value in vars(KafkaError).values() if isinstance(value, int)}
    passing = {code for code, e in with_exception.items() if is_instance_of(kafka_itself, e, retriable)} & named
    assert passing == OF_KAFKA | ANSWERS

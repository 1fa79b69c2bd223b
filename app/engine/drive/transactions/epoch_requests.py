"""Requests of Kafka's protocol that aiokafka does not have: those that transactions with epochs take (KIP-890).

Fields and versions are those of the descriptions in JSON that Kafka itself is made from.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from aiokafka.protocol.api import Request, RequestStruct, Response, ResponseHeader_v0
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactBytes,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

_PRODUCE, _API_VERSIONS, _END_TXN = 0, 18, 26
_TAGS = ("tags", TaggedFields)
_FINALIZED = 2
"""Tag of the features that all brokers of the cluster have and go by."""
_LEVELS = CompactArray(("name", CompactString()), ("most", Int16), ("least", Int16), _TAGS)


class ProduceResponse12(Response):
    API_KEY = _PRODUCE
    API_VERSION = 12
    SCHEMA = Schema(
        (
            "topics",
            CompactArray(
                ("topic", CompactString()),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("offset", Int64),
                        ("timestamp", Int64),
                        ("log_start_offset", Int64),
                        ("record_errors", CompactArray(("at", Int32), ("message", CompactString()), _TAGS)),
                        ("error_message", CompactString()),
                        _TAGS,
                    ),
                ),
                _TAGS,
            ),
        ),
        ("throttle_time_ms", Int32),
        _TAGS,
    )


class ProduceRequest12(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = _PRODUCE
    API_VERSION = 12
    RESPONSE_TYPE = ProduceResponse12
    SCHEMA = Schema(
        ("transactional_id", CompactString()),
        ("required_acks", Int16),
        ("timeout", Int32),
        (
            "topics",
            CompactArray(
                ("topic", CompactString()),
                ("partitions", CompactArray(("partition", Int32), ("records", CompactBytes), _TAGS)),
                _TAGS,
            ),
        ),
        _TAGS,
    )


class EndTxnResponse5(Response):
    API_KEY = _END_TXN
    API_VERSION = 5
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        _TAGS,
    )


class EndTxnRequest5(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = _END_TXN
    API_VERSION = 5
    RESPONSE_TYPE = EndTxnResponse5
    SCHEMA = Schema(
        ("transactional_id", CompactString()),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("transaction_result", Boolean),
        _TAGS,
    )


class ApiVersionsResponse3(Response):
    API_KEY = _API_VERSIONS
    API_VERSION = 3
    SCHEMA = Schema(
        ("error_code", Int16),
        ("api_versions", CompactArray(("api_key", Int16), ("least", Int16), ("most", Int16), _TAGS)),
        ("throttle_time_ms", Int32),
        _TAGS,
    )

    def levels(self) -> dict[str, int]:
        """Features that the cluster goes by, and the level of each."""
        told: Any = _LEVELS.decode(BytesIO(self.tags.get(_FINALIZED, b"\x01")))
        return {name: most for name, most, _, _ in told}


class ApiVersionsRequest3(RequestStruct):
    FLEXIBLE_VERSION = True
    API_KEY = _API_VERSIONS
    API_VERSION = 3
    RESPONSE_TYPE = ApiVersionsResponse3
    SCHEMA = Schema(("client", CompactString()), ("client_version", CompactString()), _TAGS)

    def parse_response_header(self, read_buffer: BytesIO | bytes) -> ResponseHeader_v0:
        """Without tags: the one answer that is read before versions are known."""
        return ResponseHeader_v0.decode(read_buffer)


class AskedFeatures(Request[ApiVersionsRequest3]):
    """Which features the cluster goes by."""

    API_KEY = _API_VERSIONS

    def build(self, request_struct_class: type[ApiVersionsRequest3]) -> ApiVersionsRequest3:
        return request_struct_class("flagfall", "1", {})


class JoiningProduce(Request[ProduceRequest12]):
    """Batches whose partitions join the transaction by it."""

    API_KEY = _PRODUCE
    required_acks = -1

    def __init__(self, transactional_id: str, timeout_ms: int, batches: dict[str, list[tuple[int, bytearray]]]) -> None:
        self._transactional_id, self._timeout_ms, self._batches = transactional_id, timeout_ms, batches

    def build(self, request_struct_class: type[ProduceRequest12]) -> ProduceRequest12:
        topics: list[Any] = [(topic, [(*one, {}) for one in some], {}) for topic, some in self._batches.items()]
        return request_struct_class(self._transactional_id, self.required_acks, self._timeout_ms, topics, {})


class EpochEnd(Request[EndTxnRequest5]):
    """The end of a transaction; its answer is the epoch of the next one."""

    API_KEY = _END_TXN

    def __init__(self, transactional_id: str, producer_id: int, producer_epoch: int, result: int) -> None:
        self._ended = transactional_id, producer_id, producer_epoch, result

    def build(self, request_struct_class: type[EndTxnRequest5]) -> EndTxnRequest5:
        return request_struct_class(*self._ended, {})

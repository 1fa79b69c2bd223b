"""Requests of transactions with epochs: their bytes, as Kafka's protocol has them, and what answers say."""

from __future__ import annotations

from app.engine.drive.transactions.epoch_requests import (
    ApiVersionsRequest3,
    ApiVersionsResponse3,
    AskedFeatures,
    EndTxnRequest5,
    EndTxnResponse5,
    EpochEnd,
    JoiningProduce,
    ProduceRequest12,
    ProduceResponse12,
)

NO_TAGS = b"\0"


def test_batches_stand_by_topic_and_partition() -> None:
    asked = JoiningProduce("app-0", 40_000, {"rows": [(3, bytearray(b"batch"))]}).build(ProduceRequest12)
    partition = b"\0\0\0\3" + b"\6batch" + NO_TAGS
    topic = b"\5rows" + b"\2" + partition + NO_TAGS
    assert asked.encode() == b"\6app-0" + b"\xff\xff" + b"\0\0\x9c\x40" + b"\2" + topic + NO_TAGS


def test_each_partition_is_answered() -> None:
    places = b"\0\0\0\3" + b"\0\0" + b"\0" * 7 + b"\x2a" + b"\xff" * 8 + b"\0" * 7 + b"\1" + b"\1" + b"\0" + NO_TAGS
    refused = b"\0\0\0\4" + b"\0\x2f" + b"\xff" * 24 + b"\2" + b"\0\0\0\0\4why" + NO_TAGS + b"\4all" + NO_TAGS
    told = ProduceResponse12.decode(b"\2" + b"\5rows" + b"\3" + places + refused + NO_TAGS + b"\0\0\0\7" + NO_TAGS)
    ((topic, answers, _),) = told.topics
    assert (topic, told.throttle_time_ms) == ("rows", 7)
    assert answers == [(3, 0, 42, -1, 1, [], None, {}), (4, 47, -1, -1, -1, [(0, "why", {})], "all", {})]


def test_a_leader_that_is_told_beside_an_answer_is_passed_over() -> None:
    """Brokers add one, as a tag, where it is another than the one asked."""
    led = b"\0\0\0\3" + b"\0\6" + b"\xff" * 24 + b"\1" + b"\0" + b"\1\0\x09" + b"\0\0\0\2\0\0\0\5\0"
    told = ProduceResponse12.decode(b"\2" + b"\5rows" + b"\2" + led + NO_TAGS + b"\0\0\0\0" + NO_TAGS)
    assert told.topics[0][1][0][:2] == (3, 6)


def test_an_end_names_its_epoch_and_is_told_the_next() -> None:
    asked = EpochEnd("app-0", 7, 2, 1).build(EndTxnRequest5)
    assert asked.encode() == b"\6app-0" + b"\0" * 7 + b"\7" + b"\0\2" + b"\1" + NO_TAGS
    told = EndTxnResponse5.decode(b"\0\0\0\0" + b"\0\0" + b"\0" * 7 + b"\7" + b"\0\3" + NO_TAGS)
    assert (told.error_code, told.producer_id, told.producer_epoch) == (0, 7, 3)


def test_features_are_those_that_the_cluster_has_settled_upon() -> None:
    """Beside them it tells which levels a broker would have (tag 0), and when they were settled (1)."""
    would = b"\2" + b"\4abc" + b"\0\0" + b"\0\5" + NO_TAGS
    settled = b"\2" + b"\x14transaction.version" + b"\0\2" + b"\0\2" + NO_TAGS
    tags = b"\3" + _tag(0, would) + _tag(1, b"\0" * 8) + _tag(2, settled)
    head = b"\0\0" + b"\2" + b"\0\0\0\0\0\x0c" + NO_TAGS + b"\0\0\0\0"
    assert ApiVersionsResponse3.decode(head + tags).levels() == {"transaction.version": 2}
    assert ApiVersionsResponse3.decode(head + NO_TAGS).levels() == {}


def test_features_are_asked_for_by_name_and_version() -> None:
    asked = AskedFeatures().build(ApiVersionsRequest3)
    assert asked.encode() == b"\x09flagfall\2" + b"1" + NO_TAGS
    assert asked.parse_response_header(b"\0\0\0\x09\0").correlation_id == 9


def _tag(number: int, held: bytes) -> bytes:
    return bytes((number, len(held))) + held

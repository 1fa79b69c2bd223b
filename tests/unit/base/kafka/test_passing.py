"""Which errors are asked again, and which are answers."""

from __future__ import annotations

import pytest
from aiokafka import errors as aiokafka_errors
from confluent_kafka import KafkaError

from app.base.kafka.passing import (
    ANSWERS,
    ASK_FOR_RIGHTS,
    NAMED_BY_AIOKAFKA,
    OF_CLIENT,
    OF_KAFKA,
    REFUSALS,
    passes,
    refusal_in_words,
)


@pytest.mark.parametrize("code", sorted(OF_KAFKA | OF_CLIENT))
def test_what_passes_is_known_by_its_code_as_answers_bear_no_flag(code: int) -> None:
    error = KafkaError(code)
    assert not error.retriable()
    assert passes(error)


def test_a_question_that_was_lost_with_a_brokers_handle_is_asked_again() -> None:
    """Seen in the second in which one of three brokers was back; a take-over under way would end the worker."""
    assert passes(KafkaError(KafkaError._DESTROY_BROKER))


def test_the_librarys_own_flag_is_believed_too() -> None:
    assert passes(KafkaError(KafkaError.UNKNOWN, "again, please", False, True))


def test_all_that_aiokafka_calls_retriable_passes_but_for_topics_that_are_not_there() -> None:
    theirs = {
        error.errno
        for error in vars(aiokafka_errors).values()
        if isinstance(error, type) and issubclass(error, aiokafka_errors.BrokerResponseError) and error.retriable
    }
    assert theirs - OF_KAFKA == {KafkaError.UNKNOWN_TOPIC_OR_PART} < ANSWERS


@pytest.mark.parametrize(
    "code",
    [*ANSWERS, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError.PRODUCER_FENCED],
)
def test_what_waiting_does_not_mend_is_told(code: int) -> None:
    assert not passes(KafkaError(code))


def test_refusals_are_known_by_aiokafkas_own_names_too() -> None:
    named = {getattr(aiokafka_errors, name).errno for name in NAMED_BY_AIOKAFKA}
    assert named == REFUSALS


@pytest.mark.parametrize("name", NAMED_BY_AIOKAFKA)
def test_a_refusal_is_told_in_words_though_only_its_name_is_left(name: str) -> None:
    """A right that is taken while a worker asks for committed offsets."""
    refused = getattr(aiokafka_errors, name)()
    for error in (refused, aiokafka_errors.KafkaError(repr(refused))):
        told = refusal_in_words(error)
        assert told is not None
        assert name in told
        assert ASK_FOR_RIGHTS in told


def test_an_error_of_another_name_is_no_refusal() -> None:
    for error in (aiokafka_errors.KafkaError(repr(aiokafka_errors.UnknownError())), aiokafka_errors.KafkaError()):
        assert refusal_in_words(error) is None

"""Why a request's records are not there, or why nobody knows: each ends in other words to who sent them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from app.domain.errors import FlagfallError

FAILURES: Final = (KafkaException, BufferError, SystemError)
"""The last is the client's own where it hands over reports of deliveries behind an error that it has to raise."""

TOO_LARGE: Final = (
    "it, or what it has for one partition, takes more bytes than the topic's max.message.bytes lets in: send fewer or "
    "smaller records at once, or raise that"
)
REFUSALS: Final[Mapping[int, str]] = {
    KafkaError.MSG_SIZE_TOO_LARGE: TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE: TOO_LARGE,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the worker's user may not write to the topic (docs/rights.md)",
    KafkaError.INVALID_RECORD: "the broker holds it for invalid",
    KafkaError.INVALID_TIMESTAMP: "the topic does not take the worker's time: look at its message.timestamp.* settings",
    KafkaError.POLICY_VIOLATION: "a policy of the brokers forbids it",
}
"""What a broker says of records for good, and what may be done; anything else may pass."""


class NotConfirmed(FlagfallError):
    """Nobody knows yet whether a request's records were written: with its key, it may be sent again."""


class NotWritten(FlagfallError):
    """Nothing of a request was written, for certain, and it may be sent again: no commit was asked for."""


class BrokerRefuses(FlagfallError):
    """Nothing of a request was written, and sent again it would not be."""


def refusal_among(errors: Iterable[KafkaError]) -> KafkaError | None:
    """The first that is for good."""
    return next((error for error in errors if error.code() in REFUSALS), None)


def in_words(error: BaseException) -> str:
    """Without the client's own codes."""
    if isinstance(error, SystemError) and error.__cause__ is not None:
        error = error.__cause__
    told = error.args[0] if error.args else None
    return str(told.str() if isinstance(told, KafkaError) else error)

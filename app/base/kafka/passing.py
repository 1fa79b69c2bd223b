"""Errors of Kafka that pass by themselves, so that whoever asks again soon may be answered; and those of rights."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from app.domain.errors import FlagfallError

OF_KAFKA = frozenset(
    {
        KafkaError.INVALID_MSG,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.NOT_CONTROLLER,
        KafkaError.CONCURRENT_TRANSACTIONS,
        KafkaError.KAFKA_STORAGE_ERROR,
        KafkaError.FETCH_SESSION_ID_NOT_FOUND,
        KafkaError.INVALID_FETCH_SESSION_EPOCH,
        KafkaError.LISTENER_NOT_FOUND,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.PREFERRED_LEADER_NOT_AVAILABLE,
        KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        KafkaError.ELECTION_NOT_NEEDED,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
        KafkaError.INCONSISTENT_TOPIC_ID,
        KafkaError.SHARE_SESSION_NOT_FOUND,
        KafkaError.INVALID_SHARE_SESSION_EPOCH,
        KafkaError.SHARE_SESSION_LIMIT_REACHED,
    }
)
"""Kafka's list of retriable errors, of which no client library in Python has more than a part: librdkafka sets its
flag in answers to transactional calls alone, aiokafka knows the errors of 2018 and not FENCED_LEADER_EPOCH. So it
stands here, and tests/integration/kafka/test_passing.py holds it to Kafka's own classes."""
ANSWERS = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID})
"""Retriable for Kafka, as a topic just made is not known everywhere yet. A topic that is not there is an answer here:
its name may be misspelt, and whoever has just made one waits for it (topic_admin). Nor is it what a cluster with
dead brokers says of one that it has: of 2,600 answers, with one, two and three of three brokers killed and coming
back, none did; those that failed named the missing leader, or were lost."""
OF_CLIENT = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._DESTROY_BROKER,
        KafkaError._WAIT_CACHE,
        KafkaError._WAIT_COORD,
        KafkaError._RETRY,
    }
)
"""What librdkafka says by itself of a cluster that is slow, or away; the handle of a broker that has come back is
destroyed, and the question that waited there with it."""
REFUSALS = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
"""Who asks may not: somebody has to give it the right."""
NAMED_BY_AIOKAFKA = (
    "TopicAuthorizationFailedError",
    "GroupAuthorizationFailedError",
    "TransactionalIdAuthorizationFailed",
    "ClusterAuthorizationFailedError",
)
"""The same: where aiokafka expects none, as among committed offsets, it raises another error that holds the name."""
ASK_FOR_RIGHTS = "`flagfall rights check` says what a user lacks, to who may describe the cluster"


def passes(error: KafkaError) -> bool:
    """Whether the same question may be answered soon."""
    return bool(error.retriable()) or error.code() in OF_KAFKA or error.code() in OF_CLIENT


def is_refusal(error: BaseException | None) -> bool:
    """Whether it comes of Kafka's answer that who asks may not, as one of the client libraries tells it."""
    while error is not None:
        if isinstance(error, KafkaException):
            return error.args[0].code() in REFUSALS
        if type(error).__module__ == "aiokafka.errors" and (
            getattr(error, "errno", None) in REFUSALS or _begins_with(error, NAMED_BY_AIOKAFKA)
        ):
            return True
        error = error.__cause__
    return False


def _begins_with(error: BaseException, names: tuple[str, ...]) -> bool:
    return bool(error.args) and str(error.args[0]).startswith(names)


def refusal_in_words(error: BaseException) -> str | None:
    """What to tell of an error that comes of a refusal, with where to ask; None for any other."""
    if not is_refusal(error):
        return None
    told = str(error) if isinstance(error, FlagfallError) else f"Kafka refuses it: {error}"
    return told if ASK_FOR_RIGHTS in told else f"{told.rstrip('.')}. {ASK_FOR_RIGHTS}"

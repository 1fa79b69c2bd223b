"""What a test may ask of its harness: what no producer could send, and no cluster has, is refused before it is done."""

from __future__ import annotations

from app.codecs.batches.record_headers import Headers
from app.domain.errors import FlagfallError
from app.testkit.cluster.partition_log import SentRecord

NO_TIME = -1
LAST_MS = (1 << 63) - 1


class HarnessError(FlagfallError, ValueError):
    """A test asks for something that its harness does not have, or cannot do."""


def sendable(topic: str, record: SentRecord) -> SentRecord:
    """The record as a producer would send it; HarnessError if none could."""
    for what, given in (("key", record.key), ("value", record.value)):
        if given is not None and type(given) is not bytes:
            raise HarnessError(f"{topic}: {what} {given!r} is a {type(given).__name__}, not bytes or None")
    require_whole(topic, "timestamp_ms", record.timestamp_ms, "milliseconds")
    if not NO_TIME <= record.timestamp_ms <= LAST_MS:
        raise HarnessError(
            f"{topic}: timestamp_ms {record.timestamp_ms} is no time of Kafka's: {NO_TIME} (none) or 0 to {LAST_MS}"
        )
    return record._replace(headers=_headers(topic, record.headers))


def require_whole(topic: str, name: str, given: int, unit: str) -> None:
    """HarnessError unless the argument is an int, which a flag is not."""
    if type(given) is not int:
        raise HarnessError(f"{topic}: {name} {given!r} is no whole number of {unit}")


def require_partition(partition: int, partitions: int) -> None:
    """HarnessError unless it is one of so many."""
    if type(partition) is not int or not 0 <= partition < partitions:
        raise HarnessError(f"no partition {partition!r}: this harness has {partitions}, from 0 on")


def is_text(text: str) -> bool:
    """Whether it has bytes in UTF-8, as half a surrogate pair has not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _headers(topic: str, given: Headers) -> Headers:
    if not isinstance(given, tuple | list) or not all(_is_header(one) for one in given):
        raise HarnessError(f"{topic}: headers {given!r} are no tuple of (name, value) pairs, a str and bytes each")
    for name, _ in given:
        if not is_text(name):
            raise HarnessError(f"{topic}: the name of header {name!r} holds half a surrogate pair, which no UTF-8 has")
    return tuple((name, value) for name, value in given)


def _is_header(one: object) -> bool:
    return isinstance(one, tuple | list) and [type(part) for part in one] == [str, bytes]

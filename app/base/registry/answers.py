"""What a registry may answer: bounded in bytes and in time, whatever stands at its address (rule 27).

The client reads an answer to its end, which need not come: here each is read through a bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.common._httpx_compat import httpx  # the library that the client asks with

from app.base.asking import bounded
from app.codecs.avro.schema import WriterSchema

MAX_ANSWER_BYTES = 8_000_000
"""Room for any schema that is read (`admission.MAX_SCHEMA_BYTES`), all its letters escaped."""
CONNECT_SECONDS = 10.0


class TooLarge(Exception):
    """A registry's own word, longer than that of any schema that can be read."""


def bounded_client(options: dict[str, object], patience_seconds: float) -> SchemaRegistryClient:
    """A client whose questions end: by an answer that may take so long, or by an exception of any kind."""
    timeout = httpx.Timeout(patience_seconds, connect=CONNECT_SECONDS)
    client = SchemaRegistryClient({**options, "timeout": timeout})
    session = client._rest_client.session
    session.headers["Accept-Encoding"] = "identity"  # what is short on the way may be long when it is here

    def bound(response: httpx.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise ValueError("an answer that is compressed, though nobody asked for that")
        is_its_word = response.status_code == httpx.codes.OK and "json" in response.headers.get("Content-Type", "")
        response.stream = _Bounded(response.stream, TooLarge if is_its_word else ValueError, patience_seconds)

    session.event_hooks = {"response": [bound]}
    return client


class _Bounded(httpx.SyncByteStream):  # type: ignore[misc]  # the library has types, the way to it has none
    """A stream that ends in time, or fails: `too_large` beyond MAX_ANSWER_BYTES, ValueError when the time is over."""

    def __init__(self, stream: httpx.SyncByteStream, too_large: type[Exception], patience_seconds: float) -> None:
        self._stream, self._too_large, self._patience_seconds = stream, too_large, patience_seconds

    def __iter__(self) -> Iterator[bytes]:
        yield from bounded(self._stream, MAX_ANSWER_BYTES, self._patience_seconds, self._too_large)

    def close(self) -> None:
        self._stream.close()


def writer_schema_of(schema_id: int, told: Schema) -> WriterSchema:
    """What the registry told of an id. ValueError if it told of no schema: then it is no registry's word."""
    if not isinstance(told.schema_str, str) or not isinstance(told.schema_type, str):
        raise ValueError("an answer without a schema")
    return WriterSchema(schema_id, told.schema_str, told.schema_type)

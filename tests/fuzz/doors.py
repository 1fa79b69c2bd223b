"""Every door to the outside, with good input to make bad."""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

from multidict import MultiDict

from app.base.settings import Settings, SettingsError, known_variables
from app.codecs.avro.admission import is_readable
from app.codecs.avro.evolution import obstacles
from app.codecs.avro.schema import WriterSchema
from app.codecs.stored.advance_requests import decode_request, encode_request
from app.codecs.stored.advances import read_advance
from app.codecs.stored.corrections import read_correction, read_outcome
from app.definitions.proposed import NoSchema, parsed
from app.definitions.read import defined, read_definitions
from app.domain.advance import Advance, AdvanceRequest, refusal_of_request
from app.domain.errors import DefinitionError
from app.domain.event_time import YEAR_2100_US
from app.edge.http.problems import Problem
from app.edge.http.query.parameters import RESERVED
from app.edge.http.query.read_query import read_query
from app.rides.ride import RIDES, avro_schema
from app.rides.shipped import SHIPPED
from app.rides.views import VIEWS
from app.testkit.harness import Harness
from app.testkit.simulation.parcels import HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US as SAMPLE_US
from tests.fuzz.door import Door, one_by_one
from tests.fuzz.mutated import DEEP, as_text, mutated_bytes, mutated_document
from tests.fuzz.records import draw_record, fates, fates_under
from tests.support.material.histories import START_US
from tests.support.material.schemas.foreign import FOREIGN
from tests.support.material.views import DAYS, HOPPING

EXAMPLE = Path(__file__).parents[2] / "docs" / "definitions.example.toml"
FOREIGN_AVRO = [json.loads(one.schema_str or "") for one in FOREIGN.values() if one.schema_type == "AVRO"]
_FOLDER = tempfile.TemporaryDirectory(prefix="flagfall-fuzz-")
_FILE = Path(_FOLDER.name) / "definitions.toml"
TOPICS = {topic.name: RIDES for topic in RIDES.topics}
INSTANTS = ("2026-01-05T05:00:00Z", "0001-01-01T00:00:00+12:00", "9999-12-31T23:59:59-23:59", "2024-W05-3T00:00:00Z")
QUERIES = (*INSTANTS, "366d", "15m", "0s", "999999999d", "1", "10000", "-1", "null", "asc", "allow", "", "é", "\0", "٣")


def _draw_schema(rng: random.Random) -> str:
    """A schema with a few changes, or bytes of one."""
    document: Any = avro_schema() if rng.random() < 0.7 else rng.choice(FOREIGN_AVRO)
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = mutated_document(rng, document)
    text = as_text(document)
    if rng.random() < 0.1:
        raw = text.encode(errors="replace")
        return mutated_bytes(rng, raw, [raw]).decode(errors="replace")
    return text


def _admit_schema(text: str) -> str:
    """Judged whatever it is; and one that can be read decodes bytes in both decoders alike, whatever they are."""
    schema = WriterSchema(1, text)
    with contextlib.suppress(NoSchema):
        obstacles(avro_schema(), parsed(text))
    if not is_readable(schema, RIDES.columns):
        return "not readable"
    rng = random.Random(text)
    values = [schema.header + rng.randbytes(rng.choice((0, 3, 40, 200))) for _ in range(3)]
    fates_under(values, {1: schema})
    return "readable"


def _draw_advance(rng: random.Random) -> bytes:
    watermark_us = rng.choice((START_US, YEAR_2100_US, START_US * 1000, 2**63 - 1))
    request = AdvanceRequest(rng.choice((*TOPICS, "none")), rng.choice((0, 0, 1, -1)), watermark_us, rng.choice((0, 9)))
    return _damaged_json(rng, json.loads(encode_request(request)))


def _admit_advance(value: bytes) -> str:
    request = decode_request(value)
    return "undecodable" if request is None else refusal_of_request(request, TOPICS, 0) or "admitted"


def _draw_correction(rng: random.Random) -> bytes:
    """Of a row that is closed, so that what fits goes all the way."""
    return _damaged_json(rng, _right_correction())


def _admit_corrections(some: Sequence[bytes]) -> list[str]:
    harness = _closed()
    readable = [read_correction(value) is not None for value in some]
    return [
        str(harness.correct(json.loads(value))["why"]) if is_read else "unreadable"
        for value, is_read in zip(some, readable, strict=True)
    ]


def _draw_told(rng: random.Random) -> bytes:
    """An advance that was made, or an outcome of a correction."""
    advance = Advance("parcels.air", 0, 7, SAMPLE_US)._asdict()
    place = {"topic": "app-parcels-corrections", "partition": 0, "offset": 3}
    outcome = {**place, **rng.choice(({"outcome": "applied"}, {"outcome": "refused", "why": "conflict"}))}
    return _damaged_json(rng, rng.choice((advance, outcome | {"correction": _right_correction()})))


def _admit_told(value: bytes) -> str:
    told = read_advance(value) or read_outcome(value)
    return "none of a task's" if told is None else type(told).__name__


@lru_cache(maxsize=1)
def _right_correction() -> dict[str, Any]:
    ((key, cells),) = _closed().cells(HUB_LOAD).items()
    row = {"expected": list(cells), "row": [cell + 1 for cell in cells]}
    adds = [["parcels.air", 0, 0]]
    return {
        "run": "fuzz",
        "view": HUB_LOAD.name,
        "version": HUB_LOAD.version,
        "window_start_us": key.window_start_us,
        "group": list(key.group),
        **row,
        "adds": adds,
    }


def _closed() -> Harness:
    """A task with one row, whose window is closed."""
    harness = Harness(views=[HUB_LOAD])
    harness.send("parcels.air", {"parcel_id": "p", "scanned_at_us": SAMPLE_US, "hub": 1})
    for topic in PARCELS.topics:
        harness.advance_watermark(topic.name, SAMPLE_US + 35 * MINUTE_US)
    return harness


def _draw_query(rng: random.Random) -> tuple[int, list[tuple[str, str]]]:
    names = (*sorted(RESERVED), "zone", "vendor", "hop", "é", "")
    pairs = [(rng.choice(names), _parameter(rng)) for _ in range(rng.choice((1, 1, 2, 4)))]
    return rng.randrange(len(ASKED)), pairs


def _parameter(rng: random.Random) -> str:
    text = rng.choice(QUERIES)
    if rng.random() < 0.4:
        text = mutated_bytes(rng, text.encode(), [b"2026-01-05T05:00:00Z"]).decode(errors="surrogateescape")
    return text


ASKED = (*VIEWS, DAYS, HOPPING)


def _admit_query(asked: tuple[int, list[tuple[str, str]]]) -> str:
    view, pairs = asked
    try:
        read_query(ASKED[view], MultiDict(pairs))
    except Problem as problem:
        return problem.slug
    return "admitted"


def _draw_definitions(rng: random.Random) -> Any:
    """The example with a few changes, as a table or as the bytes of the file."""
    if rng.random() < 0.5:
        whole = EXAMPLE.read_bytes()
        return mutated_bytes(rng, whole, [whole]) if rng.random() < 0.98 else b"a = " + b"[" * DEEP
    document: Any = tomllib.loads(EXAMPLE.read_text())
    for _ in range(rng.choice((1, 1, 2, 4))):
        document = mutated_document(rng, document)
    try:
        document = json.loads(as_text(document).replace("\\ud800", ""))  # TOML is Unicode
    except RecursionError:
        return b"a = " + b"[" * DEEP
    return document if isinstance(document, dict) else {"sources": document}


def _admit_definitions(told: Any) -> str:
    try:
        if isinstance(told, bytes):
            _FILE.write_bytes(told)
            read_definitions(_FILE, SHIPPED)
        else:
            defined(told, SHIPPED, "a file")
    except DefinitionError:
        return "refused"
    return "admitted"


def _draw_settings(rng: random.Random) -> dict[str, str]:
    values = (
        "",
        "0",
        "-1",
        "1e9",
        "nan",
        "true",
        "PLAINTEXT",
        "http://x:1",
        "/",
        "{}",
        "[1]",
        "é",
        "99999999999999999999",
    )
    return {rng.choice(sorted(known_variables())): rng.choice(values) for _ in range(rng.choice((1, 2, 3)))}


def _admit_settings(environment: dict[str, str]) -> str:
    with mock.patch.dict(os.environ, environment):
        try:
            Settings.load()
        except SettingsError:
            return "refused"
    return "admitted"


def _damaged_json(rng: random.Random, document: Any) -> bytes:
    text = as_text(mutated_document(rng, document) if rng.random() < 0.8 else document).encode(errors="replace")
    return mutated_bytes(rng, text, [text]) if rng.random() < 0.3 else text


DOORS = (
    Door("records", 0.7, draw_record, fates),
    Door("schemas", 0.08, _draw_schema, one_by_one(_admit_schema)),
    Door("advances", 0.06, _draw_advance, one_by_one(_admit_advance)),
    Door("corrections", 0.03, _draw_correction, _admit_corrections),
    Door("what tasks told", 0.03, _draw_told, one_by_one(_admit_told)),
    Door("queries", 0.08, _draw_query, one_by_one(_admit_query)),
    Door("definitions", 0.04, _draw_definitions, one_by_one(_admit_definitions)),
    Door("settings", 0.01, _draw_settings, one_by_one(_admit_settings)),
)
"""What stands open beside these is tested where it is: requests byte by byte (tests/unit/http/test_http_admission.py),
fetched batches (tests/unit/codecs/test_record_batches.py), TLC's files (tests/unit)."""

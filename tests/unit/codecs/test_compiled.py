"""Compiled loops start anywhere: with a cache, without one, several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

READ_ONE = """
import json
from app.codecs.avro import walk
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.column_arrays import Layout
from app.domain.source import Column, Kind

schema = WriterSchema(1, json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]}))
decoder = BlockDecoder(Layout((Column("n", Kind.INTEGER, False),)))
print(decoder.decode(Packed([schema.header + bytes((2 * 21,))]), {1: schema}).frame["n"].item())
print(sum(walk.walk.stats.cache_hits.values()))
"""


def started(**environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", READ_ONE],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process: subprocess.Popen[str]) -> tuple[int, int]:
    """The number that was read, and how often the walker came from the cache."""
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    number, hits = out.split()
    return int(number), int(hits)


def test_processes_that_compile_at_once_all_read_and_the_next_finds_the_code_ready(tmp_path: Path) -> None:
    processes = [started(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    assert [told(process)[0] for process in processes] == [21, 21]
    assert told(started(NUMBA_CACHE_DIR=str(tmp_path))) == (21, 1)


def test_where_nothing_can_be_written_the_process_compiles_for_itself() -> None:
    nowhere = {"NUMBA_CACHE_DIR": os.devnull, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    assert told(started(**nowhere)) == (21, 0)

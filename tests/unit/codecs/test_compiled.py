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


KEPT = """
from app.codecs.kept_loops import kept_loops
before = kept_loops()
import {module}
after = kept_loops()
print(before.kept, after.kept, after.all, after.place)
"""
NOWHERE = {"NUMBA_CACHE_DIR": os.devnull, "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}


def kept(module: str, **environment: str) -> list[str]:
    """How many loops are kept before and after the module is imported, how many there are, and the place."""
    ran = subprocess.run(
        [sys.executable, "-c", KEPT.format(module=module)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


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
    assert told(started(**NOWHERE)) == (21, 0)


def test_loops_are_known_to_be_kept_from_when_they_were_compiled_for_this_processor(tmp_path: Path) -> None:
    """`blobs` has one."""
    module, place = "app.codecs.blobs", {"NUMBA_CACHE_DIR": str(tmp_path)}
    before, after, every, where = kept(module, **place)
    assert (before, after, where) == ("0", "1", str(tmp_path))
    assert int(every) > 30
    assert kept("json", **place)[:2] == ["1", "1"]
    assert kept("json", **place, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")[:2] == ["0", "0"]


def test_loops_without_a_place_are_not_kept() -> None:
    before, after, _, where = kept("app.codecs.blobs", **NOWHERE)
    assert (before, after, where) == ("0", "0", "None")


def test_the_worker_has_every_loop_so_that_importing_it_compiles_them_all() -> None:
    _, after, every, _ = kept("app.edge.worker")
    assert after == every

"""The application of `flagfall worker`, which also writes down each commit: when rows became readable, and up to where.

A line per commit goes to the file that FLAGFALL_TEST_COMMITS names: Unix seconds, partition, next offset per topic,
seconds of processor time so far. It is written when the state has been swapped in, in the moment from which a query
sees it; about 5 µs each.
"""

from __future__ import annotations

import os
import time

import orjson

from app.base.settings import Settings
from app.edge.worker import create_catalogue_worker
from app.engine.core.batch import Transaction
from app.engine.core.task import TaskCore
from benchmarks.latency.committed import COMMITS

_commit = TaskCore.commit
_file = os.open(os.environ[COMMITS], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def _noting(core: TaskCore, transaction: Transaction, marker_offset: int) -> None:
    _commit(core, transaction, marker_offset)
    if not marker_offset:
        return  # what warms a worker up stands in no log
    line = (time.time(), core.state.partition, core.state.marker.next_offsets, time.process_time())
    os.write(_file, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


TaskCore.commit = _noting  # type: ignore[assignment, method-assign]
app = create_catalogue_worker(Settings.load())

"""Samples of a worker's stacks, as shares of its processor time by part, and as a drawing."""

from __future__ import annotations

import pkgutil
from xml.etree import ElementTree

import pytest

from benchmarks.flame.drawing import LEAST_WIDTH, WIDTH, flame_graph
from benchmarks.flame.parts import (
    CLOSE,
    DECODE,
    FETCH,
    FOLD,
    FOR_ITS_CALLER,
    LOOP,
    OF_MODULES,
    OTHER,
    PARTS,
    WRITE,
    heaviest,
    part_of,
    seconds_by_part,
    shares,
)
from benchmarks.flame.stacks import Frame, Thread, read_samples, weighed

LOOP_THREAD, FOLDING, ANOTHER_FOLDING, LIBRARYS = 10, 11, 12, 13
RAW = """\
thread (10): MainThread;Worker.start (faust/worker.py);drain (app/engine/drive/kafka/fetch.py);crc (zlib.py) 30
thread (10): MainThread;Worker.start (faust/worker.py) 10
thread (11): folding_0;run (threading.py);TaskCore.plan (app/engine/core/task.py) 1
thread (11): folding_0;run (threading.py);decode (app/codecs/avro/__init__.py);take (numpy/<frozen x>.py) 3
thread (12): folding_1;run (threading.py);TaskCore.plan (app/engine/core/task.py) 9
"""
THREADS = {
    LOOP_THREAD: Thread("python", 4.0),
    FOLDING: Thread("python", 8.0),
    ANOTHER_FOLDING: Thread("python", 1.0),
    LIBRARYS: Thread("rdk:broker1", 7.0),
}


def test_a_stack_is_read_from_the_thread_to_the_call_that_was_at_work() -> None:
    first, *_, last = read_samples(RAW.splitlines())
    assert (first.thread_id, first.times) == (LOOP_THREAD, 30)
    assert [str(frame) for frame in first.stack] == [
        "MainThread",
        "faust.worker.Worker.start",
        "app.engine.drive.kafka.fetch.drain",
        "zlib.crc",
    ]
    assert last.stack[0] == Frame("folding")


def test_a_thread_without_a_name_is_read_too_and_a_stack_without_a_thread_is_refused() -> None:
    (sample,) = read_samples(["thread (7);f<locals>.<lambda> (<frozen importlib._bootstrap>) 2", ""])
    assert sample.stack == (Frame("unnamed"), Frame("f<locals>.<lambda>", "importlib._bootstrap"))
    with pytest.raises(ValueError, match="no thread"):
        read_samples(["drain (app/engine/drive/kafka/fetch.py) 2"])


def test_samples_of_a_thread_share_its_processor_time_however_many_they_are() -> None:
    """One that waits for a core, or for its turn, is met as often as one that works."""
    seconds = weighed(read_samples(RAW.splitlines()), THREADS)
    assert sorted(seconds.values()) == [1.0, 3.0, 3.0, 6.0, 7.0]
    assert sum(seconds.values()) == sum(thread.cpu_seconds for thread in THREADS.values())


def test_threads_of_a_pool_stand_together_and_those_of_a_library_under_its_name() -> None:
    seconds = weighed(read_samples(RAW.splitlines()), THREADS)
    by_thread: dict[str, float] = {}
    for stack, used in seconds.items():
        by_thread[stack[0].function] = by_thread.get(stack[0].function, 0.0) + used
    assert by_thread == {"MainThread": 4.0, "folding": 9.0, "rdk:broker1": 7.0}


def test_what_ended_before_it_was_asked_for_its_time_counts_for_nothing() -> None:
    assert weighed(read_samples(RAW.splitlines()), {}) == {}


@pytest.mark.parametrize(
    ("modules", "part"),
    [
        (["faust.worker", "app.engine.drive.kafka.fetch", "app.codecs.batches.inflating"], FETCH),
        (["app.engine.drive.runner", "app.engine.core.task", "app.codecs.avro.decode", "numpy.core"], DECODE),
        (["app.engine.core.task", "app.engine.core.views.folding", "app.engine.core.rows.table"], FOLD),
        (["app.engine.core.task", "app.engine.core.results.merging", "app.engine.core.rows.table"], CLOSE),
        (["app.engine.drive.transactions.writer", "app.codecs.batches.written_records"], WRITE),
        (["threading", "app.engine.drive.kafka.fetching"], LOOP),
        (["runpy", "queue"], OTHER),
    ],
)
def test_a_stack_belongs_to_the_innermost_call_that_has_a_part(modules: list[str], part: str) -> None:
    """By whole names: `fetching` is not in `fetch`."""
    assert part_of((Frame("MainThread"), *(Frame("call", module) for module in modules))) == part


def test_a_call_may_have_another_part_than_its_module() -> None:
    thread, loop = Frame("Thread"), Frame("ServiceThread._start_thread", "mode.threads")
    assert part_of((thread, loop)) == FETCH
    assert part_of((thread, loop, Frame("MethodQueue.call", "mode.threads"))) == LOOP


@pytest.mark.parametrize("name", [*OF_MODULES, *FOR_ITS_CALLER])
def test_everything_in_the_table_is_there(name: str) -> None:
    """What has moved would count for whoever calls it."""
    assert pkgutil.resolve_name(name) is not None


def test_shares_of_all_parts_are_a_hundred_per_cent() -> None:
    stacks = weighed(read_samples(RAW.splitlines()), THREADS)
    assert seconds_by_part(stacks) == {
        FETCH: 3.0,
        DECODE: 6.0,
        FOLD: 3.0,
        CLOSE: 0.0,
        WRITE: 0.0,
        LOOP: 1.0,
        OTHER: 7.0,
    }
    assert shares(stacks)[DECODE] == 30.0
    assert sum(shares(stacks).values()) == pytest.approx(100.0)
    assert list(shares(stacks)) == list(PARTS)


def test_what_has_used_most_is_told_first() -> None:
    stacks = weighed(read_samples(RAW.splitlines()), THREADS)
    assert heaviest(stacks, DECODE, 5) == {"app.codecs.avro.decode": 6.0}
    assert heaviest(stacks, OTHER, 5) == {"rdk:broker1": 7.0}
    assert heaviest(stacks, FOLD, 0) == {}


def test_a_call_stands_on_its_caller_and_is_as_wide_as_its_share() -> None:
    stacks = weighed(read_samples(RAW.splitlines()), THREADS)
    boxes = boxes_of(flame_graph(stacks, "title"))
    whole, folding, decode = (boxes[name] for name in ("all", "folding", "app.codecs.avro.decode"))
    assert whole["width"] == WIDTH
    assert folding["width"] == pytest.approx(WIDTH * 9 / 20, abs=0.1)
    assert decode["width"] == pytest.approx(WIDTH * 6 / 20, abs=0.1)
    assert folding["x"] <= decode["x"] <= decode["x"] + decode["width"] <= folding["x"] + folding["width"] + 0.1
    assert whole["y"] > folding["y"] > decode["y"]


def test_names_are_written_so_that_the_drawing_can_be_read() -> None:
    drawing = flame_graph({(Frame("MainThread"), Frame("f.<locals>.<lambda>", "a&b")): 1.0}, "1 < 2 & 3")
    assert {"a&b.f.<locals>.<lambda>", "MainThread"} <= boxes_of(drawing).keys()


def test_what_is_too_narrow_is_left_out() -> None:
    narrow = 0.9 * LEAST_WIDTH / WIDTH
    drawing = flame_graph({(Frame("wide"),): 1.0 - narrow, (Frame("narrow"),): narrow}, "")
    assert boxes_of(drawing).keys() == {"all", "wide"}


def boxes_of(drawing: str) -> dict[str, dict[str, float]]:
    """Place and width of each call, by its name."""
    found = {}
    for group in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}g"):
        title, box, *_ = group
        assert title.text is not None
        name, _, _ = title.text.rpartition(": ")
        found[name] = {key: float(box.attrib[key]) for key in ("x", "y", "width")}
    return found

"""Whether what a query goes on from and what it has kept are of one moment: a folder of which a part is gone, or was
put back as it once was, would go on without a word and keep wrong rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from deltalake import DeltaTable

from app.domain.records import TopicPartition
from spark_batch.errors import Invalid
from spark_batch.third.batch import NO_BATCH, StreamOffsets, has_begun, last_begun, last_done, read_ends, read_starts
from spark_batch.third.table import BATCHES, ROWS, WRITER

SUBJECT, CHECKPOINT = "subject.json", "checkpoint"
"""What stands in the folder beside the tables."""


def require_whole(view: str, folder: Path) -> None:
    """Invalid where they are not: numbers of batches, and up to where these have read, are told by both.

    A query that ended in the middle of a batch has begun one more than it has done, whose rows may be there or not.
    """
    if why := next(_wrong(folder), None):
        raise Invalid(
            f"{view}: its query in {folder} cannot go on: {why}. So it would lose rows: put back what was "
            f"there beside it, or move {folder} away as a whole, and `flagfall third {view}` begins anew"
        )


def _wrong(folder: Path) -> Iterator[str]:
    checkpoint = folder / CHECKPOINT
    if not (folder / SUBJECT).exists() and any((folder / part).exists() for part in (CHECKPOINT, ROWS, BATCHES)):
        yield f"nothing there says what its query is about: {SUBJECT} is gone"
    done, begun, kept = last_done(checkpoint), last_begun(checkpoint), _last_kept(folder / ROWS)
    if not checkpoint.exists() and kept > NO_BATCH:
        yield f"it keeps batches up to {kept}, and no checkpoint is there"
    if begun < done:
        yield f"its checkpoint has no offsets of batch {done}"
    if begun > NO_BATCH and not has_begun(checkpoint):
        yield "its checkpoint does not say where it began"
    if kept > begun:
        yield f"it keeps batches up to {kept}, and its checkpoint {_ends_with(begun)}: it is older, or another query's"
    if kept < done:
        yield f"its checkpoint counts batch {done} as done, and {ROWS} {_ends_with(kept)}"
    yield from _read_otherwise(checkpoint, {done, kept}, _kept_ends(folder / BATCHES))


def _read_otherwise(checkpoint: Path, batches: set[int], kept: StreamOffsets) -> Iterator[str]:
    """Where the tables have read to another offset than the checkpoint as of any of these batches."""
    starts = read_starts(checkpoint) if has_begun(checkpoint) else {}
    reached = {at: max(kept.get(at, 0), starts.get(at, 0)) for at in {*kept, *starts}}
    ends = [starts if batch == NO_BATCH else read_ends(checkpoint, batch) for batch in sorted(batches)]
    if all(differing := [_differing(reached, of_batch) for of_batch in ends]):
        at, told, held = differing[-1][0]
        yield f"its checkpoint has read {at} to {told}, and {BATCHES} to {held}: they are not of one moment"


def _differing(reached: StreamOffsets, ends: StreamOffsets) -> list[tuple[TopicPartition, int, int]]:
    both = sorted({*reached, *ends})
    return [(at, ends.get(at, 0), reached.get(at, 0)) for at in both if ends.get(at, 0) != reached.get(at, 0)]


def _ends_with(batch: int) -> str:
    return "has none" if batch == NO_BATCH else f"ends with {batch}"


def _last_kept(rows: Path) -> int:
    """The number of the last batch whose rows are there, be they none."""
    told = DeltaTable(rows).transaction_version(WRITER) if DeltaTable.is_deltatable(str(rows)) else None
    return NO_BATCH if told is None else told


def _kept_ends(batches: Path) -> Mapping[TopicPartition, int]:
    if not DeltaTable.is_deltatable(str(batches)):
        return {}
    told = DeltaTable(batches).to_pyarrow_table(columns=["topic", "partition", "next_offset"])
    last = told.group_by(["topic", "partition"]).aggregate([("next_offset", "max")])
    return {TopicPartition(row["topic"], row["partition"]): row["next_offset_max"] for row in last.to_pylist()}

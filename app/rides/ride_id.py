"""The ride id (rule 26): a hash of what was published, so that the same row has the same id everywhere.

The sum of one 64-bit mix per filled column, in two lanes, 32 hex digits together. Nulls add nothing and
columns are told apart by name, so neither a new nullable column nor another column order changes an id.
Rows of a file that are identical in all columns are told apart by their number among their equals.
The same bits on every platform, from every engine: only wrap-around 64-bit integers, and BLAKE2 for text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from app.rides.ride import RIDE_COLUMNS

LANES = ("high", "low")
REPEATS = pl.Schema({"row": pl.Int64, "nth": pl.UInt64})

UInt64s = npt.NDArray[np.uint64]

_HASHED_COLUMNS = tuple(column.name for column in RIDE_COLUMNS if column.name != "ride_id")
_HEX_PAIRS = np.frombuffer("".join(f"{byte:02x}" for byte in range(256)).encode(), dtype="S2")


def mix64(values: UInt64s) -> UInt64s:
    """Splitmix64's finaliser: a bijection of 64-bit words in which every input bit moves every output bit."""
    mixed = values ^ (values >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def hash_text(text: str) -> int:
    """A 64-bit word for a text, the same on every platform."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def with_lanes(rides: pl.DataFrame, service: str) -> pl.DataFrame:
    """`rides` with `high` and `low`, from which ids are made: what all columns of a row say, in two lanes."""
    lanes = {lane: pl.Series(lane, _lane(rides, service, lane)) for lane in LANES}
    return rides.with_columns(**lanes)


def with_ride_id(rides: pl.DataFrame, repeats: pl.DataFrame) -> pl.DataFrame:
    """Rides of a file that have `row` and lanes, with `ride_id` in their place. `repeats` is of the whole file."""
    numbered = rides.join(repeats, on="row", how="left", maintain_order="left")
    nth = numbered["nth"].fill_null(0).to_numpy()
    high, low = (rides[lane].to_numpy() for lane in LANES)
    return rides.with_columns(hex_digits(mix64(high + nth), mix64(low - nth)).alias("ride_id")).drop(LANES)


def repeats_of(frames: Callable[[], Iterable[pl.DataFrame]]) -> pl.DataFrame:
    """`row` and `nth` of rows that are identical to an earlier one of their file: 1 for the second, 2 for the third.

    `frames` gives the file's rides, with lanes, in file order, and is asked twice: which lanes come again is known
    from one of the two alone, and then both are looked at of few.
    """
    high = np.concatenate([frame["high"].to_numpy() for frame in frames()] or [np.empty(0, np.uint64)])
    high.sort()
    again = pl.Series(np.unique(high[1:][high[1:] == high[:-1]]))
    del high
    if again.is_empty():
        return pl.DataFrame(schema=REPEATS)
    candidates = pl.concat(
        frame.select("row", *LANES).filter(pl.col("high").is_in(again.implode())) for frame in frames()
    )
    nth = pl.int_range(pl.len(), dtype=pl.UInt64).over(*LANES).alias("nth")
    return candidates.select("row", nth).filter(pl.col("nth") > 0)


def hex_digits(high: UInt64s, low: UInt64s) -> pl.Series:
    """32 hex digits for each pair of 64-bit words, `high` first."""
    raw = np.stack([high, low], axis=1).astype(">u8").view(np.uint8)
    digits = _HEX_PAIRS[raw.reshape(-1)]
    offsets = np.arange(len(high) + 1, dtype=np.int64) * 32
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(digits.tobytes())]
    return pl.Series(pa.Array.from_buffers(pa.large_string(), len(high), buffers))


def _lane(rides: pl.DataFrame, service: str, lane: str) -> UInt64s:
    total = np.full(rides.height, hash_text(f"{lane}:service:{service}"), dtype=np.uint64)
    for name in _HASHED_COLUMNS:
        column = rides[name]
        if column.null_count() < rides.height:
            salt = np.uint64(hash_text(f"{lane}:{name}"))
            mixed = mix64(_words(column) ^ salt)
            total += np.where(column.is_not_null().to_numpy(), mixed, np.uint64(0)) if column.null_count() else mixed
    return total


def _words(column: pl.Series) -> UInt64s:
    """A 64-bit word per value; any word where it is null."""
    if column.dtype == pl.String:
        distinct = column.unique().drop_nulls()
        words = pl.Series([hash_text(text) for text in distinct], dtype=pl.UInt64)
        column = column.replace_strict(distinct, words, default=0, return_dtype=pl.UInt64)
        return column.to_numpy()
    return column.cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)

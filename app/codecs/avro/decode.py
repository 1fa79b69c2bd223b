"""Many Confluent-framed Avro values to columns at once: walked where they are sound, one by one where they are odd.

The compiled walker (`walk`) reads what an Avro writer writes, and nothing else. Whatever it calls odd goes to the
strict decoder, which is the rule: it names what is wrong, or accepts an unusual encoding, which is then written anew
and walked like the others. So what becomes of a record never depends on its neighbours.

What needs no second look (a header, a schema, a body that ends too soon or too late) is told for all values at once:
a record that cannot be used costs no more than one that can.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import fastavro
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.avro.column_arrays import ColumnArrays, Layout
from app.codecs.avro.program import plain_schema, program_of
from app.codecs.avro.schema import HEADER_BYTES, Schemas, WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.codecs.avro.walk import CUT_OFF, NO_SCHEMA, ODD, TRAILING, Ints, header_ids, overlapping_words, walk
from app.codecs.blobs import Blobs
from app.codecs.narrowing import failing
from app.domain.records import Reason, Value, unforeseen

NULL_VALUE, TOO_SHORT, BAD_MAGIC, UNKNOWN_SCHEMA, INCOMPATIBLE_SCHEMA = range(-8, -3)
"""Fates beside the walker's, told from headers and schemas alone."""
_REASONS = {
    NULL_VALUE: Reason.NULL_VALUE,
    TOO_SHORT: Reason.TOO_SHORT,
    BAD_MAGIC: Reason.BAD_MAGIC,
    UNKNOWN_SCHEMA: Reason.UNKNOWN_SCHEMA,
    INCOMPATIBLE_SCHEMA: Reason.INCOMPATIBLE_SCHEMA,
    CUT_OFF: Reason.UNDECODABLE,
    TRAILING: Reason.TRAILING_BYTES,
}
FEW_SCHEMAS = 8
"""So many ids, one after the other, are looked for faster than all are sorted."""
MAX_BLOCK_BYTES = 2**31 - 1
"""Arrow's views address 32 bits; a block of more is refused."""


class Packed:
    """Values of records where they stand in one buffer: a fetch's own, if it gave them so; they are not copied then."""

    def __init__(self, values: Sequence[bytes | None]) -> None:
        """ValueError if their buffer is of more than MAX_BLOCK_BYTES."""
        self.values = Blobs.of(values)
        self.data, self.starts, self.lengths = self.values.data, self.values.starts, self.values.lengths
        if len(self.data) > MAX_BLOCK_BYTES:
            raise ValueError(f"{len(values)} values stand in {len(self.data)} bytes, more than {MAX_BLOCK_BYTES}")
        self.buffer = pa.py_buffer(self.data.data)
        self.words = overlapping_words(self.data)
        self.ids = header_ids(self.data, self.starts, self.lengths)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def schema_ids(self) -> set[int]:
        """Every schema id that the values name; malformed headers name none."""
        found, left = set[int](), self.ids[self.ids != NO_SCHEMA]
        while len(left) and len(found) < FEW_SCHEMAS:  # nearly always once
            found.add(int(left[0]))
            left = left[left != left[0]]
        return found | set(np.unique(left).tolist())

    def header_fates(self) -> Ints:
        """Of values that name no schema, why; ODD of all others."""
        fates = np.full(len(self), ODD, np.int32)
        nameless = np.flatnonzero(self.ids == NO_SCHEMA)
        lengths = self.lengths[nameless]
        short = np.where(lengths < 0, NULL_VALUE, TOO_SHORT)
        fates[nameless] = np.where(lengths <= HEADER_BYTES, short, BAD_MAGIC)
        return fates


@dataclass
class Decoded:
    """`columns` have a row for every value, and `fates` say what became of it.

    SOUND, the first column, in the layout's order, whose bounds it breaks, or below zero: then it is among the
    `refused`.
    """

    columns: ColumnArrays
    fates: Ints
    refused: list[tuple[int, str]]

    @property
    def kept(self) -> npt.NDArray[np.intp]:
        """Indices of the decoded values, whether within their bounds or not."""
        return np.flatnonzero(self.fates >= 0)

    @property
    def frame(self) -> pl.DataFrame:
        """The wanted columns of the decoded values."""
        frame = self.columns.frame()
        return frame.filter(pl.Series(self.fates >= 0)) if self.refused else frame


class BlockDecoder:
    """Decodes blocks of values into the columns of one layout; keeps what it has worked out for a schema."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._strict = StrictDecoder(layout.columns)
        self._programs: dict[WriterSchema, Int64s | None] = {}
        self._plain = WriterSchema(0, json.dumps(plain_schema(layout.columns)))

    def decode(self, packed: Packed, schemas: Schemas) -> Decoded:
        """Values to columns; `schemas` has an entry for each of `packed.schema_ids`.

        A column that a writer's schema lacks is null. A value at which decoding fails as nobody had foreseen is refused
        for that; what fails only because of several together is raised.
        """
        known = {schema_id: schemas[schema_id] for schema_id in packed.schema_ids}  # no value's fault if that fails
        try:
            return self._decode(packed, known)
        except MemoryError:
            raise
        except Exception:
            refused = self._failing(packed.values, known)
            if not refused:
                raise
            rest = Packed([None if at in refused else value for at, value in enumerate(packed.values)])
            decoded = self._decode(rest, known)
            return replace(decoded, refused=sorted((dict(decoded.refused) | refused).items()))

    def _failing(self, values: Sequence[bytes | None], schemas: Schemas) -> dict[int, str]:
        """Places of the values that cannot be decoded without a failure, and the reasons for which they are refused."""
        reasons = dict[int, str]()
        for at, error in failing(lambda some: self._decode(Packed(some), schemas), values).items():
            told = self._strict.decode(values[at], schemas)
            reasons[at] = told.reason if isinstance(told, Unreadable) else unforeseen(error)
        return reasons

    def _decode(self, packed: Packed, schemas: Schemas) -> Decoded:
        columns = ColumnArrays(self._layout, len(packed), [packed.buffer])
        fates = packed.header_fates()
        unread: dict[int, list[int]] = {UNKNOWN_SCHEMA: [], INCOMPATIBLE_SCHEMA: []}
        for schema_id in packed.schema_ids:
            schema = schemas[schema_id]
            if schema is None:
                unread[UNKNOWN_SCHEMA].append(schema_id)
            elif not self._strict.can_read(schema):
                unread[INCOMPATIBLE_SCHEMA].append(schema_id)
            elif (program := self._program(schema)) is not None:
                chosen = np.flatnonzero(packed.ids == schema_id)
                _walk(packed, chosen, chosen, program, columns, fates)
        for fate, ids in unread.items():
            if ids:
                fates[np.isin(packed.ids, ids)] = fate
        return Decoded(columns, fates, self._refused(packed, schemas, columns, fates))

    def _program(self, schema: WriterSchema) -> Int64s | None:
        if schema not in self._programs:
            self._programs[schema] = program_of(schema, self._layout)
        return self._programs[schema]

    def _refused(self, packed: Packed, schemas: Schemas, columns: ColumnArrays, fates: Ints) -> list[tuple[int, str]]:
        """What cannot be decoded, in order, and why; what is odd and yet accepted is decoded into its place."""
        undecoded = np.flatnonzero(fates < 0)
        told = fates[undecoded]
        odd = undecoded[told == ODD]
        of_odd = dict(self._read_odd(packed, odd, schemas, columns, fates)) if len(odd) else {}
        named = zip(undecoded.tolist(), told.tolist(), strict=True)
        reasons = ((row, of_odd.get(row) if fate == ODD else _REASONS[fate]) for row, fate in named)
        return [(row, reason) for row, reason in reasons if reason is not None]

    def _read_odd(
        self, packed: Packed, odd: Int64s, schemas: Schemas, columns: ColumnArrays, fates: Ints
    ) -> list[tuple[int, str]]:
        """Which of the odd values the strict decoder refuses, and why; the others are written anew and walked."""
        refused, accepted, rewritten = [], [], []
        for row in odd.tolist():
            told = self._strict.decode(packed.values[row], schemas)
            if isinstance(told, Unreadable):
                refused.append((row, told.reason))
            else:
                accepted.append(row)
                rewritten.append(self._rewrite(told))
        if accepted:
            anew, program = Packed(rewritten), self._program(self._plain)
            assert program is not None  # its schema is of plain fields
            columns.buffers.append(anew.buffer)
            _walk(anew, np.arange(len(anew)), np.array(accepted), program, columns, fates)
        return refused

    def _rewrite(self, values: Mapping[str, Value]) -> bytes:
        out = io.BytesIO(self._plain.header)
        out.seek(HEADER_BYTES)
        fastavro.schemaless_writer(out, self._plain.parsed, values)
        return out.getvalue()


def _walk(packed: Packed, chosen: Int64s, rows: Int64s, program: Int64s, columns: ColumnArrays, fates: Ints) -> None:
    """Into `columns`, whose last buffer must be that of `packed`."""
    buffer = len(columns.buffers) - 1
    walk(
        packed.data, packed.words, packed.starts, packed.lengths, chosen, rows, buffer,
        program, columns.cells, columns.present, fates,
    )  # fmt: skip

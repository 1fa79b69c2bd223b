"""Avro bodies walked field by field, strictly, straight into columns: compiled.

A body is *sound* if it is, to the byte, what an Avro writer writes: every field there, every varint in its shortest
form, flags 0 or 1, branches of a union as declared, texts in UTF-8, nothing behind the last field. One that is sound
as far as it goes may be cut off, or have something behind it: no decoder would say otherwise. All else is *odd*, and
for the strict decoder to judge (`app.codecs.avro.strict`): the walker never guesses.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Bytes, Int64s
from app.codecs.avro.schema import HEADER_BYTES
from app.codecs.compiled import READABLE, compiled, inlined

Ints = npt.NDArray[np.int32]

NO_SCHEMA = -1
"""Instead of a schema id: null, no longer than a header, or of another magic than zero."""

SOUND = 2**31 - 1
"""Of a record: sound, and every value within its column's bounds."""
ODD, CUT_OFF, TRAILING = -1, -2, -3
"""Of a record: not sound; but for its end; but for what is behind its end. Any other number from zero on is the first
column, in the source's order, whose value is out of bounds."""

LONG, TEXT, BYTES, FLAG, SKIPPED = range(5)
"""Kinds of field: int or long, string, bytes that nobody asks for (all three begin with a varint); boolean; a fixed
number of bytes that nobody asks for."""

KIND, NULL_BRANCH, SIZE, COLUMN, PLACE, UNIT, LOW, HIGH, REQUIRED = range(9)
"""What a program says of a field: its kind; the byte that says null, or NOT_NULLABLE; how many bytes to skip; the
source's column; where it is written (`Layout`; place -1: nowhere); inclusive bounds of a number, or of a text's length
in bytes; whether the source refuses null."""
FIELD_WIDTH = 9
NOT_NULLABLE = -1

_PLACES = "Array(int64, 1, 'C', True)"
_WORDS = "Array(uint64, 1, 'A', True, aligned=False)"

_U = np.uint64
_STOP_BITS, _ONES = _U(0x8080808080808080), _U(0x0101010101010101)
_SHORT_VIEW_BYTES = 12


def overlapping_words(data: Bytes) -> npt.NDArray[np.uint64]:
    """The eight bytes that begin at each byte, little-endian, as one number; nothing is copied."""
    return np.ndarray((max(0, len(data) - 7),), "<u8", data.data if len(data) >= 8 else b"", strides=(1,))


@compiled(f"int64[::1]({READABLE}, {_PLACES}, {_PLACES})")
def header_ids(data: Bytes, starts: Int64s, lengths: Int64s) -> Int64s:
    """The schema id that each value names, or NO_SCHEMA; value `i` is `data[starts[i]:starts[i] + lengths[i]]`."""
    ids = np.empty(len(starts), np.int64)
    for i in range(len(ids)):
        at = starts[i]
        if lengths[i] <= HEADER_BYTES or data[at] != 0:
            ids[i] = NO_SCHEMA
        else:
            high, low = np.int64(data[at + 1]) << 8 | data[at + 2], np.int64(data[at + 3]) << 8 | data[at + 4]
            ids[i] = high << 16 | low
    return ids


@compiled(f"boolean({READABLE}, int64, int64)")
def _is_utf8(data: Bytes, at: np.int64, end: np.int64) -> bool:
    """Whether these bytes are UTF-8 as Python reads it: no surrogates, nothing overlong or above U+10FFFF."""
    while at < end:
        first = data[at]
        at += 1
        if first < 0x80:
            continue
        low, high, more = 0x80, 0xBF, 0
        if 0xC2 <= first <= 0xDF:
            more = 1
        elif 0xE0 <= first <= 0xEF:
            more = 2
            low = 0xA0 if first == 0xE0 else 0x80
            high = 0x9F if first == 0xED else 0xBF
        elif 0xF0 <= first <= 0xF4:
            more = 3
            low = 0x90 if first == 0xF0 else 0x80
            high = 0x8F if first == 0xF4 else 0xBF
        else:
            return False
        if at + more > end or not low <= data[at] <= high:
            return False
        for i in range(1, more):
            if not 0x80 <= data[at + i] <= 0xBF:
                return False
        at += more
    return True


@inlined
def _joined_sevens(bits: np.uint64) -> np.uint64:
    """Eight groups of seven bits, one in each byte, moved together."""
    bits = (bits & _U(0x007F007F007F007F)) | ((bits & _U(0x7F007F007F007F00)) >> _U(1))
    bits = (bits & _U(0x00003FFF00003FFF)) | ((bits & _U(0x3FFF00003FFF0000)) >> _U(2))
    return (bits & _U(0x000000000FFFFFFF)) | ((bits & _U(0x0FFFFFFF00000000)) >> _U(4))


@inlined
def _unzigzagged(bits: np.uint64) -> np.int64:
    return np.int64(bits >> _U(1)) ^ -np.int64(bits & _U(1))


@compiled(
    f"void({READABLE}, {_WORDS}, {_PLACES}, {_PLACES}, int64[::1], int64[::1], int64, int64[:, ::1],"
    " int64[:, ::1], boolean[:, ::1], int32[::1])"
)
def walk(  # noqa: PLR0912, PLR0915 - in parts it takes twice as long (decision 7)
    data: Bytes,
    words: npt.NDArray[np.uint64],
    starts: Int64s,
    lengths: Int64s,
    chosen: Int64s,
    rows: Int64s,
    buffer: int,
    program: Int64s,
    cells: Int64s,
    present: npt.NDArray[np.bool_],
    fates: Ints,
) -> None:
    """Reads value `chosen[i]` into row `rows[i]` of `cells` and `present`, and says in `fates` what it is.

    Value `j` is `data[starts[j]:starts[j] + lengths[j]]`, `words` are the overlapping words of `data`, and `buffer` is
    the number by which Arrow's views know it. Rows of odd bodies hold what was read before.

    Whether a field is null and how long a number is changes from ride to ride, and a processor that guesses wrong
    loses more than the work costs: so both are computed, never asked, and a null is a number of no bytes.
    """
    flat, height = cells.reshape(-1), _U(cells.shape[1])
    for i in range(len(chosen)):
        row, value_of = _U(rows[i]), _U(chosen[i])
        at, end = starts[value_of] + HEADER_BYTES, starts[value_of] + lengths[value_of]
        fate, flaw = SOUND, 0
        for field in range(len(program)):
            kind, null_branch = program[field, KIND], program[field, NULL_BRANCH]
            place, unit = program[field, PLACE], _U(program[field, UNIT])
            given = np.int64(-1)  # all bits set, none where it is null
            if null_branch >= 0:
                branch = np.int64(data[_U(at)]) if at < end else np.int64(1)
                if (branch & ~np.int64(2)) != 0:
                    flaw = ODD if at < end else CUT_OFF
                    break
                given = np.int64(branch == null_branch) - 1
                at += 1
            if kind <= BYTES:
                stops = np.uint64(0)
                if at < len(words):
                    word = words[_U(at)]
                    stops = ~word & _STOP_BITS
                if stops != 0:
                    mask = stops ^ (stops - _U(1))
                    size = np.int64(((mask & _ONES) * _ONES) >> _U(56))
                    bits = word & mask & ~_STOP_BITS
                    longer_than_needed = (bits <= mask >> _U(8)) & (size > 1)
                    bits = _joined_sevens(bits)
                else:  # of nine or ten bytes, or at the end of the block
                    bits, size, longer_than_needed = _U(0), np.int64(0), given != 0
                    while given != 0 and size < 10 and at + size < end:
                        byte = _U(data[_U(at + size)])
                        bits |= (byte & _U(0x7F)) << _U(7 * size)
                        size += 1
                        if byte < 0x80:
                            longer_than_needed = (byte == 0 and size > 1) or (byte > 1 and size == 10)
                            break
                value = _unzigzagged(bits) & given
                at += size & given
                if (given != 0) & longer_than_needed | (at > end):
                    ended = at == end and size < 10 and (size == 0 or data[_U(end - 1)] >= 0x80)
                    flaw = CUT_OFF if ended or at > end else ODD
                    break
            elif kind == FLAG:
                value = np.int64(data[_U(at)]) & given if at < end else np.int64(0)
                at -= given
                if (value > 1) | (at > end):
                    flaw = ODD if value > 1 else CUT_OFF
                    break
            else:
                value = program[field, SIZE] & given
            if kind not in (LONG, FLAG):
                start = at
                if value < 0 or value > end - start:  # at + value may overflow
                    flaw = CUT_OFF if value > 0 and kind != SKIPPED else ODD
                    break
                at += value
                if kind == TEXT:
                    seen, read = _U(0), start
                    while read + 8 <= at:
                        seen |= words[_U(read)]
                        read += 8
                    while read < at:
                        seen |= _U(data[_U(read)])
                        read += 1
                    if (seen & _STOP_BITS) != 0 and not _is_utf8(data, start, at):
                        flaw = ODD
                        break
                    if place >= 0:  # as an Arrow string view: a short text itself, or the beginning of a long one
                        view = unit * height + _U(2) * row
                        first, second = _U(value), _U(0)
                        if value > _SHORT_VIEW_BYTES:
                            first |= words[_U(start)] << _U(32)
                            second = _U(start) << _U(32) | _U(buffer)
                        else:
                            for byte_at in range(value if value < 4 else 4):
                                first |= _U(data[_U(start + byte_at)]) << _U(32 + 8 * byte_at)
                            for byte_at in range(4, value):
                                second |= _U(data[_U(start + byte_at)]) << _U(8 * byte_at - 32)
                        flat[view], flat[view + _U(1)] = np.int64(first), np.int64(second)
            elif place >= 0:
                flat[unit * height + row] = value
            if place >= 0:
                present[_U(place), row] = given != 0
            outside = (value < program[field, LOW]) | (value > program[field, HIGH])
            refused = (given != 0) & outside | (given == 0) & (program[field, REQUIRED] != 0)
            if refused:
                fate = min(fate, program[field, COLUMN])
        if flaw == 0 and at < end:
            flaw = TRAILING
        fates[row] = fate if flaw == 0 else flaw

"""Keys of stored rows as the worker writes and reads them: by column, in compiled loops.

What the bytes are is said by `app.codecs.stored.row_keys`, which goes key by key: Spark's executors and the command
line load no compiled loops. Neither takes a key that the other does not take.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.blobs import NULL, Blobs
from app.codecs.compiled import READABLE, compiled
from app.codecs.stored.changelog import INTEGER_TAG, NULL_INTEGER, NULL_TAG, TEXT_TAG
from app.codecs.stored.row_keys import decode_key, heads_of, integer_columns, row_prefix
from app.codecs.text_column import GroupColumn, GroupColumns, TextColumn
from app.codecs.weaving import copied, woven
from app.domain.column import MAX_TEXT_BYTES
from app.domain.errors import LayoutError
from app.domain.view import View

_TEXT_HEAD = np.dtype([("tag", "u1"), ("length", ">u2")])
_NUMBER_BYTES = 8


def encode_key_columns(view: View, windows: Int64s | None, groups: Sequence[GroupColumn], count: int) -> Blobs:
    """Keys of so many rows. ValueError for a text of more than MAX_TEXT_BYTES."""
    fixed, pieces = heads_of(view, windows, count), list[Blobs]()
    for text, held in zip(view.texts, groups, strict=True):
        if not text:
            fixed += integer_columns(np.asarray(held))
            continue
        column = TextColumn.of(held).utf8
        pieces += [*_side_by_side(fixed), _text_heads(column), column]
        fixed = []
    pieces += _side_by_side(fixed)
    return pieces[0] if len(pieces) == 1 else woven(pieces)


def decode_key_columns(view: View, keys: Blobs) -> tuple[Int64s | None, GroupColumns]:
    """Window starts (None for all-time views) and group columns: the inverse of `encode_key_columns`.

    How a key begins, up to the length of the view's prefix, does not matter. LayoutError if what follows does not fit
    the view's groups.
    """
    texts, head = np.array(view.texts, np.bool_), len(row_prefix(view))
    windows = np.empty(len(keys) if view.window.ends else 0, np.int64)
    held, lengths = (np.empty((len(texts), len(keys)), np.int64) for _ in range(2))
    odd = _find_groups(keys.data, keys.starts, keys.lengths, head, texts, windows, held, lengths)
    if odd >= 0:
        raise _odd(view, keys[odd])
    groups = list[GroupColumn](held)
    for at in np.flatnonzero(texts).tolist():
        utf8 = copied(Blobs(keys.data, held[at], lengths[at]))
        if not _is_utf8(utf8):
            raise _odd(view, keys[next(row for row in range(len(keys)) if not _is_utf8(copied(utf8[row : row + 1])))])
        groups[at] = TextColumn(utf8)
    return (windows if view.window.ends else None), groups


def _side_by_side(columns: list[Bytes]) -> list[Blobs]:
    return [Blobs.of_rows(np.hstack(columns))] if columns else []


def _text_heads(column: Blobs) -> Blobs:
    known = column.lengths != NULL
    if (column.lengths > MAX_TEXT_BYTES).any():
        raise ValueError(f"a group's text of {column.lengths.max()} bytes: {MAX_TEXT_BYTES} are the most")
    heads = np.empty(len(column), _TEXT_HEAD)
    heads["tag"], heads["length"] = np.where(known, TEXT_TAG, NULL_TAG), np.maximum(column.lengths, 0)
    whole = Blobs.of_rows(heads.view(np.uint8).reshape(len(column), _TEXT_HEAD.itemsize))
    return Blobs(whole.data, whole.starts, np.where(known, whole.lengths, 1))


def _is_utf8(texts: Blobs) -> bool:
    """Whether each text is; all of their buffer is they, one behind the other."""
    begun = texts.at(texts.lengths > 0)
    if ((texts.data[begun.starts] & 0xC0) == 0x80).any():  # goes on with a letter of the one before
        return False
    try:
        texts.data.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _odd(view: View, key: bytes | None) -> LayoutError:
    """In words, what is wrong with a key that is none of a row."""
    prefix, key = row_prefix(view), key or b""
    try:
        decode_key(view, prefix + key[len(prefix) :])
    except LayoutError as error:
        return error
    return LayoutError(f"key {key.hex()} of {view.name} is none of a row")


@compiled(f"int64({READABLE}, int64[:], int64[:], int64, boolean[::1], int64[::1], int64[:,::1], int64[:,::1])")
def _find_groups(  # noqa: PLR0912 - one walk over each key
    data: Bytes, starts: Int64s, lengths: Int64s, head: int, texts: Mask, windows: Int64s, held: Int64s, taken: Int64s
) -> int:
    """Writes windows, the values of integer groups, and where texts begin and how long they are.

    Gives the first key that does not fit, -1 if each does.
    """
    for row in range(len(starts)):
        at, end = starts[row] + head, starts[row] + lengths[row]
        if len(windows):
            if at + _NUMBER_BYTES > end:
                return row
            number = np.int64(data[at]) - 256 if data[at] >= 128 else np.int64(data[at])
            for byte in range(at + 1, at + _NUMBER_BYTES):
                number = number << 8 | np.int64(data[byte])
            windows[row] = number
            at += _NUMBER_BYTES
        for group in range(len(texts)):
            if at >= end:
                return row
            tag = data[at]
            at += 1
            if texts[group]:
                length = np.int64(NULL)
                if tag == TEXT_TAG:
                    if at + 2 > end:
                        return row
                    length = np.int64(data[at]) << 8 | np.int64(data[at + 1])
                    at += 2
                elif tag != NULL_TAG:
                    return row
                held[group, row], taken[group, row] = at, length
                at += max(length, 0)
            else:
                if at + _NUMBER_BYTES > end or (tag != INTEGER_TAG and tag != NULL_TAG):  # noqa: PLR1714 (compiled)
                    return row
                number = np.int64(data[at]) - 256 if data[at] >= 128 else np.int64(data[at])
                for byte in range(at + 1, at + _NUMBER_BYTES):
                    number = number << 8 | np.int64(data[byte])
                held[group, row] = number if tag == INTEGER_TAG else NULL_INTEGER
                at += _NUMBER_BYTES
        if at != end:
            return row
    return -1

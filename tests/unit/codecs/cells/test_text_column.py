"""A column of texts reads as an array of str and None does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.text_column import TextColumn

TEXTS = st.lists(st.none() | st.text(max_size=5), max_size=9)


@given(TEXTS, st.data())
def test_it_gives_what_an_array_of_the_same_texts_gives(texts: list[str | None], data: st.DataObject) -> None:
    column, array = TextColumn.of(texts), np.array([*texts, None], object)[:-1]
    which = np.array(data.draw(st.lists(st.integers(0, len(texts) - 1))) if texts else [], np.int64)
    mask = np.array([text is None for text in texts], np.bool_)
    assert (len(column), [*column], column.tolist(), column.dtype) == (len(texts), texts, texts, array.dtype)
    assert [column[at] for at in which] == column[which].tolist() == array[which].tolist()
    assert column[mask].tolist() == array[mask].tolist()
    assert column[1:3].tolist() == array[1:3].tolist()
    assert np.asarray(column).tolist() == texts
    assert np.concatenate([column, array]).tolist() == [*texts, *texts]
    array[:] = column
    assert array.tolist() == texts


def test_half_of_a_surrogate_pair_is_refused_as_it_comes() -> None:
    with pytest.raises(UnicodeEncodeError):
        TextColumn.of(["\ud800"])

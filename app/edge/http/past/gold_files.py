"""Final rows of windows that have left the tables, as a reconciliation has kept them (docs/history.md).

They are read here, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import and_, or_
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from app.base.files.history import gold_folder, last_told
from app.codecs.stored.changelog import NULL_INTEGER
from app.domain.errors import FlagfallError
from app.domain.records import Value
from app.domain.view import WINDOW_DAY, WINDOW_NAME, View
from app.engine.core.rows.state import Rows


class GoldUnreadable(FlagfallError):
    """Files of a gold table are damaged, or are not all there; says which folder, and what to do."""


@dataclass(frozen=True)
class GoldRange:
    """Windows that begin in `[from_us, until_us)`, None is open, of groups that have one of these values, by name."""

    from_us: int | None
    until_us: int
    groups: Mapping[str, Sequence[Value]]


class GoldFiles:
    """A view's, as they are when this is made: what later runs write is not seen."""

    def __init__(self, table: DeltaTable, view: View, told: Mapping[str, Any]) -> None:
        self._table, self._view = table, view
        self.run_id: str = told["run"]
        """The run that has recomputed and compared what is there."""
        self.final_to_us: int = told["final_to_us"]
        """All windows that had ended by then are there."""

    @staticmethod
    @contextmanager
    def reading(history: Path, view: View) -> Iterator[None]:
        """What is read of the view's table in the block raises GoldUnreadable where it cannot be."""
        try:
            yield
        except (DeltaError, pa.ArrowException, OSError) as error:
            said = next(iter(str(error).splitlines()), type(error).__name__)
            raise GoldUnreadable(
                f"{gold_folder(history, view)} cannot be read: {said}. Move it away: the next `flagfall reconcile` "
                "makes it anew"
            ) from error

    @classmethod
    def of(cls, history: Path, view: View) -> GoldFiles | None:
        """What an application's history has of the view; None where it has none yet."""
        folder = gold_folder(history, view)
        if not DeltaTable.is_deltatable(str(folder)):
            return None
        table = DeltaTable(folder)
        told = last_told(table)
        return None if told is None else cls(table, view, told)

    def count(self, asked: GoldRange) -> int:
        """How many rows are asked for."""
        return int(self._table.to_pyarrow_dataset().count_rows(filter=_where(self._view, asked)))

    def rows(self, asked: GoldRange) -> Rows:
        """Those rows, in no order."""
        view = self._view
        columns = [WINDOW_NAME, *(group.name for group in view.groups), *view.cells]
        read = self._table.to_pyarrow_dataset().to_table(columns=columns, filter=_where(view, asked))
        texts = view.texts[len(view.texts) - len(view.groups) :]
        groups = [_values(read[group.name], text) for group, text in zip(view.groups, texts, strict=True)]
        cells = [read[name].to_numpy() for name in view.cells]
        return Rows(read[WINDOW_NAME].to_numpy(), groups, np.column_stack(cells).astype(np.int64, copy=False))


def _where(view: View, asked: GoldRange) -> pc.Expression:
    start, day = pc.field(WINDOW_NAME), pc.field(WINDOW_DAY)
    conditions = [start < asked.until_us, day <= _day(asked.until_us)]
    if asked.from_us is not None:
        conditions += [start >= asked.from_us, day >= _day(asked.from_us)]
    for name, values in asked.groups.items():
        conditions.append(reduce(or_, (_is(pc.field(name), value) for value in values)))
    return reduce(and_, conditions)


def _is(field: pc.Expression, value: Value) -> pc.Expression:
    return field.is_null() if value is None else field == value


def _day(instant_us: int) -> date:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant_us)).date()


def _values(column: pa.ChunkedArray[Any], is_text: bool) -> Any:
    if is_text:
        return np.array(column.to_pylist(), dtype=object)
    integers: pa.ChunkedArray[Any] = column.cast(pa.int64())
    filled: Any = integers.fill_null(NULL_INTEGER)  # type: ignore[arg-type]  # an int is made a scalar of its type
    return filled.to_numpy()

"""A second kind of window that merges: sessions whose rows hold more than an end, which they call otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import pytest

from app.domain.measures.parts import Op, Part, Take
from app.domain.rows import Cells
from app.domain.view import View
from app.domain.windows.session import Session
from app.engine.core.kinds.kernels import KERNELS
from app.engine.core.kinds.session import SessionKernel


@dataclass(frozen=True)
class Visits(Session):
    """Their end is not the first cell of their own."""

    key = "visits"
    tag = 255
    last_cell: ClassVar[str] = "left_at_us"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("placed", Op.ADD, Take.PRESENT, self.column), *super().parts)


def as_session(view: View, cells: Cells) -> Cells:
    """A visit's cells as the same session has them."""
    at = view.cells.index("placed")
    return (*cells[:at], *cells[at + 1 :])


@contextmanager
def known() -> Iterator[None]:
    """As long as it lasts, the worker has a kernel for them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KERNELS, Visits, SessionKernel)  # the registry is read-only to all others
        yield

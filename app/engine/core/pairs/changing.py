"""What a walk does to the state: halves as the changelog holds them, and what is swapped in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import half_keys, settled_values
from app.codecs.weaving import chosen
from app.domain.pairs.pairing import Pairing
from app.engine.core.batch import Changes
from app.engine.core.draft import Draft
from app.engine.core.pairs.walking import Walk
from app.engine.core.rows.halves import HeldHalves, NewHalves
from app.engine.core.task_state import TaskState


@dataclass(frozen=True, slots=True)
class HalvesChanged:
    """Halves of a join or alert that wait no more, that are forgotten, and that came; by slot but for the last."""

    of: str
    settled: Int64s
    gone: Int64s
    new: NewHalves

    def swap_in(self, state: TaskState) -> None:
        held = state.halves[self.of]
        held.settle(self.settled)
        held.remove(self.gone)
        held.add(self.new)


@dataclass(frozen=True, slots=True)
class HalvesPacked:
    """The same halves in less room."""

    of: str
    packed: HeldHalves

    def swap_in(self, state: TaskState) -> None:
        state.halves[self.of] = self.packed


def keep_walk(draft: Draft, of: Pairing, walk: Walk, waiting: Blobs) -> None:
    """Put what became of halves into the transaction; of those that came and went within it nothing is written.

    `waiting`: by row of the batch, what is written of a half that waits.
    """
    rows, came = walk.stay, walk.arrivals
    waits = np.isin(rows, walk.wait, assume_unique=True)
    at_us, ids = came.at_us[rows], came.ids.at(rows)
    values = chosen(waits.astype(np.int64), [settled_values(at_us, ids), waiting.at(rows)])
    new = NewHalves(came.places[rows], waits, at_us, ids, values)
    keep_halves(draft, of, walk.held, walk.settled, walk.gone, new)


def forget(draft: Draft, of: Pairing, slots: Int64s) -> None:
    """Let ids go that nobody can repeat any more."""
    none = np.zeros(0, np.int64)
    new = NewHalves(none, none.astype(np.bool_), none, Blobs.nulls(0), Blobs.nulls(0))
    keep_halves(draft, of, draft.state.halves[of.name], none, slots, new)


def keep_halves(draft: Draft, of: Pairing, held: HeldHalves, settled: Int64s, gone: Int64s, new: NewHalves) -> None:
    """Halves that wait no more, that go, and that come: to the changelog and, once committed, to the state."""
    if not len(settled) and not len(gone) and not len(new.places):
        return
    places = np.concatenate([held.places_at(settled), new.places, held.places_at(gone)])
    values = Blobs.joined([held.settled_values_at(settled), new.values, Blobs.nulls(len(gone))])
    draft.keep_all(Changes(half_keys(of, places), values))
    draft.effects.append(HalvesChanged(of.name, settled, gone, new))


def pack(draft: Draft, of: Pairing) -> bool:
    """Give back the room of what is gone, aside, if it is much: nothing else may then be done with the slots."""
    held = draft.state.halves[of.name]
    if held.is_wasteful:
        draft.effects.append(HalvesPacked(of.name, held.packed()))
    return held.is_wasteful

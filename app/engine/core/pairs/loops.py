"""What becomes of the halves of a batch, in offset order: rules 18 and 20 of docs/rules.md, compiled.

A half is known by a number: its slot in what is held, or `slots` and its row in `steps`. `states` has one for each of
both; `newest` by id, which ids of the batch are numbered for, names its newest half. `leavers` are those that may
leave within the batch, the earliest first: a half that counts is never earlier than one that has left.

    row of steps   NUMBER  SIDE  AT   LATE            SINCE            OVER             LOW       HIGH
                   of id   0, 1  of   at or before    behind it, ids   at or before it  between which times
                           -1:   it   it is late      are taken        halves leave     the other side's are meant
                           none
"""

from __future__ import annotations

from app.codecs.arrays import Int64s
from app.codecs.compiled import compiled
from app.codecs.stored.halves import SIDE_SHIFT
from app.engine.core.cells.grouping import APPLIED, DUPLICATE, LATE, OUT_OF_SCOPE
from app.engine.core.kinds.loops import FateCodes
from app.engine.core.rows.halves import GONE, NONE, SETTLED, WAITING, States

NUMBER, SIDE, AT, LATE_UNTIL, SINCE, OVER, LOW, HIGH = range(8)
STEP_WIDTH = 8
LEFT_OF, RIGHT_OF, STEP_OF = range(3)
"""What is told of a pair: its halves, NONE for one that is missing, and the row that let it be told."""
BROKEN = -2
"""Instead of how many are told: a half met another that waits no more."""


@compiled(
    "int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int8[::1], int64[::1],"
    " int8[::1], int64[:,::1])"
)
def join_halves(  # noqa: PLR0912 - one walk over the batch: who leaves, what counts, who meets
    steps: Int64s,
    at_us: Int64s,
    places: Int64s,
    older: Int64s,
    newest: Int64s,
    leavers: Int64s,
    states: States,
    came: Int64s,
    fates: FateCodes,
    told: Int64s,
) -> int:
    """Writes states, fates and what is told, each row of `told` a pair or a half that left; gives how many.

    `came` is room for what `older` is of the batch's own.
    """
    slots, count, leaving = len(states) - len(steps), 0, 0
    for row in range(len(steps)):
        while leaving < len(leavers):
            half = leavers[leaving]
            if (at_us[half] if half < slots else steps[half - slots, AT]) > steps[row, OVER]:
                break
            leaving += 1
            if states[half] == WAITING:
                states[half] = SETTLED
                side = places[half] >> SIDE_SHIFT if half < slots else steps[half - slots, SIDE]
                told[count, LEFT_OF], told[count, RIGHT_OF] = (NONE, half) if side else (half, NONE)
                told[count, STEP_OF] = row
                count += 1
        if steps[row, SIDE] < 0:
            fates[row] = OUT_OF_SCOPE
            continue
        if steps[row, AT] <= steps[row, LATE_UNTIL]:
            fates[row] = LATE
            continue
        fates[row], met = APPLIED, NONE
        half = newest[steps[row, NUMBER]]
        while half >= 0:
            happened_us = at_us[half] if half < slots else steps[half - slots, AT]
            side = places[half] >> SIDE_SHIFT if half < slots else steps[half - slots, SIDE]
            if states[half] == GONE:
                pass
            elif side != steps[row, SIDE]:
                if steps[row, LOW] <= happened_us <= steps[row, HIGH]:
                    met = half  # the only one: halves of one id and side are more than two bounds apart
            elif happened_us > steps[row, SINCE]:
                fates[row] = DUPLICATE
            half = older[half] if half < slots else came[half - slots]
        if fates[row] != APPLIED:
            continue
        mine = slots + row
        came[row] = newest[steps[row, NUMBER]]
        newest[steps[row, NUMBER]] = mine
        if met == NONE:
            states[mine] = WAITING
            continue
        if states[met] != WAITING:
            return BROKEN
        states[met] = states[mine] = SETTLED
        told[count, LEFT_OF], told[count, RIGHT_OF] = (met, mine) if steps[row, SIDE] else (mine, met)
        told[count, STEP_OF] = row
        count += 1
    return count


@compiled(
    "int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int8[::1], int64[::1],"
    " int8[::1], int64[:,::1])"
)
def watch_halves(  # noqa: PLR0912 - as `join_halves`, which it differs from in who meets and what is told
    steps: Int64s,
    at_us: Int64s,
    places: Int64s,
    older: Int64s,
    newest: Int64s,
    leavers: Int64s,
    states: States,
    came: Int64s,
    fates: FateCodes,
    told: Int64s,
) -> int:
    """As `join_halves`: beginnings are left, ends right; a beginning that waited in vain is told, and goes."""
    slots, count, leaving = len(states) - len(steps), 0, 0
    for row in range(len(steps)):
        while leaving < len(leavers):
            half = leavers[leaving]
            if (at_us[half] if half < slots else steps[half - slots, AT]) > steps[row, OVER]:
                break
            leaving += 1
            if states[half] == WAITING:
                states[half] = GONE
                told[count, LEFT_OF], told[count, RIGHT_OF], told[count, STEP_OF] = half, NONE, row
                count += 1
        if steps[row, SIDE] < 0:
            fates[row] = OUT_OF_SCOPE
            continue
        if steps[row, AT] <= steps[row, LATE_UNTIL]:
            fates[row] = LATE
            continue
        fates[row], other = APPLIED, NONE
        half = newest[steps[row, NUMBER]]
        while half >= 0:
            happened_us = at_us[half] if half < slots else steps[half - slots, AT]
            if states[half] != GONE and happened_us > steps[row, SINCE]:
                if (places[half] >> SIDE_SHIFT if half < slots else steps[half - slots, SIDE]) == steps[row, SIDE]:
                    fates[row] = DUPLICATE
                else:
                    other = half  # the only one: it would be a duplicate
            half = older[half] if half < slots else came[half - slots]
        if fates[row] != APPLIED:
            continue
        mine, is_end = slots + row, steps[row, SIDE] == 1
        came[row] = newest[steps[row, NUMBER]]
        newest[steps[row, NUMBER]] = mine
        states[mine] = SETTLED if is_end or other != NONE else WAITING
        if other == NONE or (is_end and states[other] != WAITING):
            continue
        happened_us = at_us[other] if other < slots else steps[other - slots, AT]
        if is_end:
            states[other] = SETTLED
        if happened_us < steps[row, LOW] if is_end else happened_us > steps[row, HIGH]:
            told[count, LEFT_OF], told[count, RIGHT_OF] = (other, mine) if is_end else (mine, other)
            told[count, STEP_OF] = row
            count += 1
    return count

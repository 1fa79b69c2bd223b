"""Who drives which ride: taxis that are in one ride at a time, drivers that work in shifts.

Ride numbers are cut into shifts of equal length. Within a shift, rides in the order of their pick-ups take the car of
their service that has been free for the longest time, or one more car. Cars of neighbouring shifts, which overlap where
rides begun in the one end in the other, come from different pools; a pool is used again when nobody of its last shift
can be on the road. So a ride's taxi follows from its own shift alone, whatever block it is asked for in.
"""

from __future__ import annotations

from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.durations import SECOND_US
from app.rides.generator.demand import MAX_NUMBER, WEEKDAY, WEEKEND
from app.rides.generator.draws import Draws
from app.rides.generator.generator import Generator
from app.rides.generator.trips import longest_seconds
from app.rides.generator.zone_shares import SERVICES
from app.rides.ride import HOUR_US

SHIFTS_PER_DAY = 3
MAX_SHIFT_RIDES = 1 << 17
"""A shift is worked out as a whole. Above 393,216 rides a day shifts are shorter than 8 hours of mean demand."""
TURNAROUND_SECONDS = (120, 720)
"""Between two rides of a car."""
DRIVERS_PER_CAR = 2
"""They take turns: a driver works in every second shift of the car's pool."""
FIRST_DRIVER_ID = 1_000_000_000
"""So that nobody's number is that of a car."""


class Crew(NamedTuple):
    """Per ride of a block, who drives it."""

    taxi_ids: Int64s
    driver_ids: Int64s


def shift_rides(generator: Generator) -> int:
    """Rides of one shift, all services together."""
    return min(max(generator.rides_per_day // SHIFTS_PER_DAY, 1), MAX_SHIFT_RIDES)


def whole_shifts(generator: Generator, number: int) -> int:
    """The end of the shifts that hold all rides below `number`; exclusive, like it."""
    length = shift_rides(generator)
    return -(-number // length) * length


def taxi_pools(generator: Generator) -> int:
    """How many pools it takes for two shifts of one pool never to overlap, the busiest hour of the week included."""
    road_us = (longest_seconds() + TURNAROUND_SECONDS[1]) * SECOND_US
    busiest = max(*WEEKDAY, *WEEKEND)
    rides_meanwhile = -(-road_us * generator.rides_per_day * busiest // (24_000 * HOUR_US))
    return 1 + -(-rides_meanwhile // shift_rides(generator))


def crew(generator: Generator, first: int, count: int) -> Crew:
    """Who drives the rides numbered from `first`, `count` of them."""
    length, pools = shift_rides(generator), taxi_pools(generator)
    taxis, drivers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for shift in range(first // length, -(-(first + count) // length)):
        begin = shift * length
        wanted = slice(max(first, begin) - begin, min(first + count, begin + length) - begin)
        seats = _seats(generator, shift)[wanted]
        taxis.append(shift % pools * _POOL_IDS + seats)
        drivers.append(FIRST_DRIVER_ID + shift % (DRIVERS_PER_CAR * pools) * _POOL_IDS + seats)
    return Crew(np.concatenate(taxis), np.concatenate(drivers))


_POOL_IDS = MAX_SHIFT_RIDES * len(SERVICES)


@lru_cache(maxsize=4)
def _seats(generator: Generator, shift: int) -> Int64s:
    """For each ride of a shift the number of its car within the pool, from 1; each service has a range of its own."""
    begin = shift * shift_rides(generator)
    length = min(shift_rides(generator), MAX_NUMBER - begin)
    rides = generator.rides(begin, length)
    draws = Draws(generator.seed, np.arange(begin, begin + length, dtype=np.int64))
    least, most = TURNAROUND_SECONDS
    free_us = rides["dropoff_at_us"].to_numpy() + (least + draws.below("turnaround", most - least)) * SECOND_US
    pickups_us = rides["pickup_at_us"].to_numpy()
    seats = np.zeros(length, np.int64)
    for number, service in enumerate(SERVICES):
        at = np.flatnonzero((rides["service"] == service).to_numpy())
        at = at[np.argsort(pickups_us[at], kind="stable")]
        seats[at] = 1 + number * MAX_SHIFT_RIDES + _cars(pickups_us[at], free_us[at])
    return seats


def _cars(pickups_us: Int64s, free_us: Int64s) -> Int64s:
    """A car for each ride of one service, from 0: the one free for longest, else one more. Pick-ups do not fall."""
    waiting: list[tuple[int, int]] = []
    cars = np.empty(len(pickups_us), np.int64)
    used = 0
    for ride, (pickup_us, next_us) in enumerate(zip(pickups_us.tolist(), free_us.tolist(), strict=True)):
        if waiting and waiting[0][0] <= pickup_us:
            _, car = heappop(waiting)
        else:
            car, used = used, used + 1
        cars[ride] = car
        heappush(waiting, (next_us, car))
    return cars

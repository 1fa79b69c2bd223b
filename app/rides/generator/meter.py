"""What a ride costs: a simple meter after New York's tariff of 2025, in cents.

Metered (yellow, green): flagfall and units of a fifth of a mile or a slow minute, surcharges, tip by card.
HVFHV: a base fare with fees on top and the driver's share. FHV publishes no amounts.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
from polars import selectors

from app.rides.generator.draws import Bools, Choice, Draws
from app.rides.generator.zone_shares import AIRPORTS_WITH_FEE, GREEN, HVFHV, JFK, NEWARK, YELLOW, zone_facts

FLAGFALL, UNIT = 300, 70
UNIT_HUNDREDTH_MILES, UNIT_SLOW_SECONDS = 20, 60
FREE_SECONDS_PER_MILE = 300  # driving faster than 12 mph, the meter counts miles only
JFK_FLAT_FARE = 7_000
CARD, CASH, NO_CHARGE, DISPUTE = 1, 2, 3, 4

_PAYMENTS = Choice(np.array([[0, 790, 200, 6, 4]]))
_CARD_TIP_PERMILLE = (0, 70, 150, 200, 225, 245, 260, 275, 290, 315, 350, 450)
_APP_TIP_PERMILLE = (*[0] * 9, 170, 300)
_TOLL = 694


def charge(draws: Draws, trips: pl.DataFrame, disputed: Bools) -> pl.DataFrame:
    """`trips` with rate code, payment type and all amounts; `disputed`: not paid by card or cash."""
    payment = _PAYMENTS.pick(np.zeros(trips.height, np.int64), draws.half_words("payment"))
    refused = NO_CHARGE + draws.below("refusal", 2)
    drawn = {
        "paid_by": np.where(disputed, refused, payment),
        "card_tip": draws.spread("card tip", _CARD_TIP_PERMILLE),
        "app_tip": draws.spread("app tip", _APP_TIP_PERMILLE),
        "toll": draws.happens("toll", 0.05),
        "dearer": 80 + draws.below("dearer", 60),
    }
    surcharged = _surcharge_zones()
    touches = {
        f"touches_{kind}": surcharged[kind][trips["from_zone"]] | surcharged[kind][trips["to_zone"]]
        for kind in ("congestion", "cbd")
    }
    charged = trips.with_columns(pl.Series(name, values) for name, values in {**drawn, **touches}.items())
    for step in (_rate, _fares, _surcharges, _percentages, _totals):
        charged = charged.with_columns(step())
    return charged


def _rate() -> list[pl.Expr]:
    to_jfk = (pl.col("from_zone") == JFK) | (pl.col("to_zone") == JFK)
    flat = to_jfk & pl.col("touches_congestion")
    code = pl.when(flat).then(2).when(pl.col("to_zone") == NEWARK).then(3).otherwise(1)
    metered = _is(YELLOW, GREEN)
    return [
        pl.when(metered).then(code).cast(pl.Int64).alias("rate_code"),
        pl.when(metered).then("paid_by").alias("payment_type"),
    ]


def _fares() -> list[pl.Expr]:
    slow_seconds = (pl.col("seconds") - pl.col("driven") * FREE_SECONDS_PER_MILE // 100).clip(lower_bound=0)
    units = pl.col("driven") // UNIT_HUNDREDTH_MILES + slow_seconds // UNIT_SLOW_SECONDS
    metered = pl.when(pl.col("rate_code") == 2).then(JFK_FLAT_FARE).otherwise(FLAGFALL + UNIT * units)
    base_fare = (250 + pl.col("driven") * 190 // 100 + pl.col("seconds") * 55 // 60) * pl.col("dearer") // 100
    driver_pay = pl.col("driven") * 131 // 100 + pl.col("seconds") * 66 // 60
    return [
        pl.when(_is(YELLOW, GREEN)).then(metered).when(_is(HVFHV)).then(base_fare).alias("fare_cents"),
        _only(driver_pay, HVFHV).alias("driver_pay_cents"),
        _only(pl.col("toll") * _TOLL, YELLOW, GREEN, HVFHV).alias("tolls_cents"),
    ]


def _surcharges() -> list[pl.Expr]:
    hour = pl.col("hour")
    rush = ~pl.col("weekend") & hour.is_between(16, 19)
    extra = pl.when(rush).then(250).when((hour >= 20) | (hour < 6)).then(100).otherwise(0)
    at_airport = pl.col("from_zone").is_in(AIRPORTS_WITH_FEE)
    congestion = pl.when(_is(YELLOW)).then(250).otherwise(275) * pl.col("touches_congestion")
    cbd = pl.when(_is(HVFHV)).then(150).otherwise(75) * pl.col("touches_cbd")
    airport = pl.when(_is(HVFHV)).then(250).otherwise(175) * at_airport
    return [
        _only(extra, YELLOW, GREEN).alias("extra_cents"),
        _only(pl.lit(50), YELLOW, GREEN).alias("mta_tax_cents"),
        _only(pl.lit(100), YELLOW, GREEN).alias("improvement_surcharge_cents"),
        _only(congestion, YELLOW, GREEN, HVFHV).alias("congestion_surcharge_cents"),
        _only(cbd, YELLOW, GREEN, HVFHV).alias("cbd_congestion_fee_cents"),
        _only(airport, YELLOW, HVFHV).alias("airport_fee_cents"),
    ]


def _percentages() -> list[pl.Expr]:
    fare = pl.col("fare_cents")
    by_card = _is(YELLOW, GREEN) & (pl.col("paid_by") == CARD)
    card_tip = fare * pl.col("card_tip") // 1000 * by_card
    return [
        pl.when(_is(HVFHV))
        .then(fare * pl.col("app_tip") // 1000)
        .otherwise(_only(card_tip, YELLOW, GREEN))
        .alias("tip_cents"),
        _only(fare * 8_875 // 100_000, HVFHV).alias("sales_tax_cents"),
        _only(fare * 25 // 1_000, HVFHV).alias("black_car_fund_cents"),
    ]


def _totals() -> list[pl.Expr]:
    not_in_total = ("driver_pay_cents", "sales_tax_cents", "black_car_fund_cents")
    parts = pl.sum_horizontal(selectors.ends_with("_cents") - selectors.by_name(not_in_total))
    return [_only(parts, YELLOW, GREEN).alias("total_cents")]


def _is(*services: int) -> pl.Expr:
    return pl.col("service_number").is_in(services)


def _only(cents: pl.Expr, *services: int) -> pl.Expr:
    """The amount where the ride's service publishes it, else null."""
    return pl.when(_is(*services)).then(cents).cast(pl.Int64)


@cache
def _surcharge_zones() -> dict[str, Bools]:
    """For each surcharge, by zone number, whether it holds there."""
    facts = zone_facts()
    holds = {}
    for kind in ("congestion", "cbd"):
        holds[kind] = np.zeros(266, dtype=np.bool_)
        holds[kind][facts.filter(pl.col(kind) == 1)["zone"].to_numpy()] = True
    return holds

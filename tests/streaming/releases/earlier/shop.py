"""What a shop defines, in words that releases back to layout 6 of markers understand."""

from __future__ import annotations

from app.domain.measures.kinds import Count, Max, Sum
from app.domain.pairs.join import Half, Join, Side, Taken
from app.domain.source import Column, Kind, Source, SourceTopic
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.testkit.harness import Harness

DAY_2100_US = 4_102_444_800_000_000
MINUTE_US = 60_000_000
TASKS = 2

SALES = Source(
    number=1,
    name="sales",
    topics=(SourceTopic(1, "sales"),),
    record="Sale",
    columns=(
        Column("sale_id", Kind.TEXT, nullable=False),
        Column("till", Kind.IDENTIFIER, nullable=True, low=1, high=99),
        Column("sold_at_us", Kind.INSTANT, nullable=False, low=0, high=DAY_2100_US),
        Column("cents", Kind.INTEGER, nullable=False, low=0, high=1_000_000),
    ),
    key="till",
    reported_at="sold_at_us",
    id="sale_id",
    skew_seconds=60,
)
PAYMENTS = Source(
    number=2,
    name="payments",
    topics=(SourceTopic(2, "payments"),),
    record="Payment",
    columns=(
        Column("sale_id", Kind.TEXT, nullable=False),
        Column("paid_at_us", Kind.INSTANT, nullable=False, low=0, high=DAY_2100_US),
    ),
    key="sale_id",
    reported_at="paid_at_us",
    id="sale_id",
    skew_seconds=60,
)


def _view(number: int, name: str, groups: tuple[Group, ...], window: object, *seconds: int) -> View:
    """Seconds are those of grace and of retention."""
    measures = (Count("sales"), Sum("cents", "cents"), Max("dearest", "cents"))
    return View(number, name, SALES, groups, window, measures, *seconds, "of the shop")


TILL = (Group("till", "till"),)
REVENUE = _view(1, "revenue", TILL, Tumbling("sold_at_us", size_seconds=600), 60, 86_400)
RUSHES = _view(2, "rushes", TILL, Session("sold_at_us", gap_seconds=120), 180, 86_400)
EVER = _view(3, "ever", (Group("sale", "sale_id"),), AllTime(), 0, 0)
PAID = Join(
    number=1,
    name="paid",
    left=Half(SALES, "sales", id="sale_id", at="sold_at_us"),
    right=Half(PAYMENTS, "payments", id="sale_id", at="paid_at_us"),
    bound_seconds=300,
    grace_seconds=60,
    columns=(Taken("sale_id", Side.LEFT, "sale_id"), Taken("paid_at_us", Side.RIGHT, "paid_at_us")),
    key="sale_id",
    reported_at="paid_at_us",
    output=SourceTopic(3, "sales.paid"),
    help="sales and their payments",
)
VIEWS = (REVENUE, RUSHES, EVER)
DECLARED = {"views": [RUSHES, EVER], "finals": [REVENUE], "joins": [PAID], "partitions": TASKS}


def sell(shop: Harness, first_minute: int) -> None:
    """Half an hour of sales at both tasks, the last of them not closed; some too late, some no sales at all."""
    for nth in range(40):
        minute, name = first_minute + nth * 3 // 4, f"{first_minute}-{nth}"
        at_us, task = minute * MINUTE_US, nth % TASKS
        till = None if nth % 7 == 0 else nth % 3 + 1
        shop.send("sales", {"sale_id": name, "till": till, "sold_at_us": at_us, "cents": nth}, partition=task)
        if nth % 3 == 0:
            shop.send("payments", {"sale_id": name, "paid_at_us": at_us + MINUTE_US}, partition=task)
    late_us = (first_minute + 1) * MINUTE_US
    shop.send("sales", {"sale_id": f"{first_minute}-late", "till": 1, "sold_at_us": late_us, "cents": 9})
    shop.send_bytes("sales", b"no Avro", partition=1)
    shop.advance_watermark("payments", (first_minute + 25) * MINUTE_US)
    shop.restart(compact=True)


def close(shop: Harness, minute: int) -> None:
    """All windows that end before it."""
    for topic in ("sales", "payments"):
        for task in range(TASKS):
            shop.advance_watermark(topic, minute * MINUTE_US, partition=task)

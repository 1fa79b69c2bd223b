"""What earlier releases left in Kafka, in layouts that came before: taken over whole, and gone on with.

`earlier/write.py` has written it down by those releases' own code.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.codecs.stored.marker import LAYOUT
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.harness import Harness
from tests.streaming.releases.earlier.shop import DECLARED, PAID, REVENUE, TASKS, VIEWS, close, sell

FILES = sorted(Path(__file__).with_name("earlier").glob("layout-*.json"))
NEXT_MINUTE, END_MINUTE = 40, 200
VERSIONS_SINCE = 8
"""Before, names were part of views' versions: such views are built anew, and tell what they told once more."""


@pytest.fixture(params=FILES, ids=lambda file: file.stem)
def left(request: pytest.FixtureRequest) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(request.param.read_text())
    return told


def test_the_layout_before_this_one_is_among_them(left: dict[str, Any]) -> None:
    assert FILES[-1].stem == f"layout-{LAYOUT - 1}"
    assert f'{{"layout":{left["layout"]},'.encode() in b"".join(values(left))


def test_a_shop_goes_on_where_an_earlier_release_left_it(left: dict[str, Any]) -> None:
    taken_over, by_this_one = Harness(**DECLARED, broker=filled(left)), Harness(**DECLARED)
    sell(by_this_one, 0)
    assert told_by(taken_over) == told_by(by_this_one)
    for shop in (taken_over, by_this_one):
        sell(shop, NEXT_MINUTE)
        close(shop, END_MINUTE)
    assert told_by(taken_over) == told_by(by_this_one)
    anew = left["layout"] < VERSIONS_SINCE
    assert (len(taken_over.finals(REVENUE)) > len(by_this_one.finals(REVENUE))) == anew
    assert (len(taken_over.late) > len(by_this_one.late)) == anew


def told_by(shop: Harness) -> dict[str, Any]:
    """Rows, finals of the view's version, what was joined and set aside."""
    finals = [final for final in shop.finals(REVENUE) if final["version"] == REVENUE.version]
    return {view.name: shop.rows(view) for view in VIEWS} | {
        "finals": Counter((final["window_start_us"], final["till"], tuple(final["cells"])) for final in finals),
        "late": {(late.topic, late.partition, late.offset) for late in shop.late},
        "paid": shop.joined(PAID),
        "quarantined": shop.quarantined,
    }


def filled(left: dict[str, Any]) -> Broker:
    """A cluster that holds what was left, each record where it stood."""
    broker = Broker(TASKS)
    for told in left["logs"]:
        log = broker.log(told["topic"], told["partition"])
        for offset, key, value, headers, timestamp_ms in told["records"]:
            log.end = offset
            log.append(SentRecord(some(key), some(value), tuple((n, some(v)) for n, v in headers), timestamp_ms))
        log.end = told["end"]
    return broker


def values(left: dict[str, Any]) -> list[bytes]:
    return [some(record[2]) or b"" for log in left["logs"] for record in log["records"]]


def some(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)

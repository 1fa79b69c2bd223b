"""docs/monitoring asks for metrics that a worker has, by labels that it gives them, and its page lists them all."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml
from confluent_kafka import Producer
from prometheus_client.parser import text_string_to_metric_families

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.rides.generator.dirt import Dirt
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.machine.asking import flush
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.world import covers, ready_worker
from tests.support.material.stored.runs import NOON, wrote

DOCS = Path(__file__).parents[3] / "docs"
OF_PROMETHEUS = {"up": {"job", "instance"}, "ALERTS": {"alertname", "alertstate", "severity"}}
OF_EVERY_SERIES = {"job", "instance"}
OURS = ("flagfall_", "process_")
PLACEHOLDER = re.compile(r"\$\{?__?\w+\}?|\$\w+|\$\{\w+\}")
"""Of the dashboard: what the reader has chosen."""


def _board() -> dict[str, Any]:
    return json.loads((DOCS / "monitoring" / "dashboard.json").read_text("utf-8"))


def _rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DOCS / "monitoring" / "alerts.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _queries() -> Iterator[str]:
    for panel in _board()["panels"]:
        yield from (PLACEHOLDER.sub("x", target["expr"]) for target in panel.get("targets", []))
    yield from (rule["expr"] for rule in _rules())


def _listed() -> dict[str, set[str]]:
    """Labels by metric, as the page tells them."""
    rows = re.findall(
        r"^\| `((?:flagfall|process)_\w+)` \| (.*?) \|", (DOCS / "monitoring.md").read_text("utf-8"), re.MULTILINE
    )
    return {name: set(re.findall(r"\w+", labels)) for name, labels in rows}


def _scraped(text: str) -> Mapping[str, set[str]]:
    """Labels by metric, as the worker gives them; of a metric that has no value yet there are none."""
    found: dict[str, set[str]] = defaultdict(set)
    for family in text_string_to_metric_families(text):
        if family.name.startswith(OURS):
            labels = found[f"{family.name}_total" if family.type == "counter" else family.name]
            for sample in family.samples:
                labels.update(sample.labels.keys() - {"le"})
    return found


def _asked(query: str) -> tuple[set[str], set[str]]:
    """Names of metrics, and of labels."""
    names, labels = set[str](), set[str]()

    def visit(part: Any) -> None:
        if isinstance(part, promql_parser.VectorSelector):
            names.add(part.name)
            labels.update(matcher.name for matcher in part.matchers.matchers)
        if isinstance(part, promql_parser.AggregateExpr) and part.modifier is not None:
            labels.update(part.modifier.labels)

    promql_parser.walk(promql_parser.parse(query), visit)
    return names, labels


@pytest.mark.parametrize("query", sorted(set(_queries())))
def test_a_query_asks_for_metrics_and_labels_that_are_listed(query: str) -> None:
    listed = _listed() | OF_PROMETHEUS
    names, labels = _asked(query)
    assert names
    metrics = {re.sub("_(bucket|count|sum)$", "", name) for name in names}
    assert metrics <= listed.keys()
    known = set[str]().union(*(listed[name] for name in metrics))
    assert labels <= known | OF_EVERY_SERIES | ({"le"} if any(name.endswith("_bucket") for name in names) else set())


@pytest.mark.parametrize("rule", _rules(), ids=lambda rule: str(rule["alert"]))
def test_an_alert_says_what_is_so_why_it_is_told_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["annotations"].keys() == {"summary", "reason", "action"}
    assert rule["labels"]["severity"] in {"warning", "critical"}


def test_the_dashboard_has_its_panels_side_by_side() -> None:
    panels = [panel for panel in _board()["panels"] if panel["type"] != "row"]
    assert len({panel["id"] for panel in _board()["panels"]}) == len(_board()["panels"])
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    assert all(panel["description"] and panel["title"] for panel in panels)


def test_the_page_lists_what_a_worker_measures_by_the_labels_it_gives(world: Settings, tmp_path: Path) -> None:
    settings = world.model_copy(update={"data_dir": tmp_path})
    wrote(settings.data_dir, {ZONE_DEMAND: 1}, NOON)
    write_rides(settings, 0, 2_000, dirt=Dirt(late=0.05, stray_years=0, duplicates=0))
    producer = Producer(librdkafka_options(settings.kafka))
    producer.produce(RIDES.topics[0].name, b"no ride", partition=0)
    flush(producer)
    with ready_worker(settings, tmp_path, "worker", FLAGFALL_CLEANLINESS="true") as started:
        wait_for(lambda: covers(settings, started), "every ride is covered", [started])
        started.get("/v1/views/zone_demand/rows")
        scraped = _scraped(started.get("/metrics").text)
    listed = _listed()
    assert listed.keys() == scraped.keys()
    labelled = {name: labels for name, labels in scraped.items() if labels}
    assert {name: listed[name] for name in labelled} == labelled
    assert len(labelled) > 15

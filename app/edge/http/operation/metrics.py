"""`/metrics` for Prometheus: markers and tables are read when scraped, so nothing is counted twice.

The ledgers in the markers already count every record, per batch; they survive restarts and move with a task.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.domain.difference import Fate
from app.domain.event_time import NO_WATERMARK
from app.domain.measures.parts import Op, Take
from app.domain.view import View
from app.edge.http.context import Edge, ServedGroup
from app.edge.http.entry.nowhere import is_nowhere
from app.edge.http.page.verdicts import UNREADABLE, read_verdicts
from app.edge.http.problems import Handler
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.standing import GroupStanding

UNMATCHED = "unmatched"
REGISTRY = web.AppKey("registry", CollectorRegistry)
DURATIONS = web.AppKey("durations", Histogram)


def add_metrics(app: web.Application, edge: Edge, registry: CollectorRegistry) -> None:
    """Give the application its metrics; `registry` may hold the engine's own as well."""
    registry.register(StateCollector(edge))
    app[REGISTRY] = registry
    app[DURATIONS] = Histogram(
        "flagfall_http_request_duration_seconds",
        "Time to answer, by route and status.",
        ("route", "status"),
        registry=registry,
    )


@web.middleware
async def timed(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Observe how long each answer took; outside of all else, so that problems are seen with their status."""
    begun = time.perf_counter()
    response = await handler(request)
    resource = request.match_info.route.resource
    route = UNMATCHED if resource is None or is_nowhere(request) else resource.canonical
    request.app[DURATIONS].labels(route, str(response.status)).observe(time.perf_counter() - begun)
    return response


async def metrics(request: web.Request) -> web.Response:
    """The registry in Prometheus' text format."""
    body = generate_latest(request.app[REGISTRY])
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})


class StateCollector(Collector):
    """Reads the directory and the last verdicts at each scrape."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge

    def describe(self) -> Iterable[Metric]:
        """Nothing: names are known without asking for values."""
        return ()

    def collect(self) -> Iterable[Metric]:
        groups = {group.name: group.directory for group in self._edge.groups}
        tasks = [(name, at.tasks[p]) for name, at in groups.items() for p in sorted(at.tasks)]
        log_end = {place: end for directory in groups.values() for place, end in directory.log_end.items()}
        yield _standing(self._edge.standing)
        yield _standings(groups)
        yield from _positions([task for _, task in tasks], log_end, _sources(self._edge.groups))
        yield _without_watermark(self._edge)
        yield from _ledgers(tasks)
        yield _quarantined([task for _, task in tasks])
        yield from _taken_over(groups)
        yield from _sizes([task for _, task in tasks])
        yield _unclean([task for _, task in tasks])
        yield from _verdicts(self._edge)


def _standing(standing: GroupStanding) -> Metric:
    gauge = GaugeMetricFamily("flagfall_worker_standing", "1 for what the worker is now.", labels=["standing"])
    for one in GroupStanding:
        gauge.add_metric([one.value], float(one is standing))
    return gauge


def _standings(groups: Mapping[str, Directory]) -> Metric:
    gauge = GaugeMetricFamily("flagfall_group_standing", "The same of each task group.", labels=["group", "standing"])
    for name, directory in groups.items():
        now = directory.standing_now
        for one in GroupStanding:
            gauge.add_metric([name, one.value], float(one is now))
    return gauge


def _sources(groups: Iterable[ServedGroup]) -> dict[str, str]:
    """Their names, by topic."""
    return {topic.name: source.name for group in groups for source in group.sources for topic in source.topics}


def _positions(tasks: list[TaskState], ends: dict[tuple[str, int], int], sources: dict[str, str]) -> Iterable[Metric]:
    labels = ["topic", "partition"]
    position = GaugeMetricFamily("flagfall_position", "Next offset of the committed state.", labels=labels)
    watermark = GaugeMetricFamily("flagfall_watermark_seconds", "Seconds since 1970.", labels=["source", *labels])
    lag = GaugeMetricFamily("flagfall_lag_records", "Offsets between position and log end.", labels=labels)
    for task in tasks:
        for topic, state in task.marker.inputs.items():
            at = [topic, str(task.partition)]
            position.add_metric(at, state.next_offset)
            if state.watermark_us != NO_WATERMARK:
                watermark.add_metric([sources.get(topic, ""), *at], state.watermark_us / 1e6)
            if (topic, task.partition) in ends:
                lag.add_metric(at, max(0, ends[topic, task.partition] - state.next_offset))
    return position, watermark, lag


def _without_watermark(edge: Edge) -> Metric:
    """By source: windows of its views close by the lowest watermark of all its topics, on whichever worker."""
    gauge = GaugeMetricFamily(
        "flagfall_watermark_missing",
        "1 for a topic-partition without a watermark.",
        labels=["source", "topic", "partition"],
    )
    for group in edge.groups:
        sources = _sources([group])
        for partition, task in sorted(group.directory.tasks.items()):
            inputs = {topic: state for topic, state in task.marker.inputs.items() if topic in sources}
            for topic, state in inputs.items():
                gauge.add_metric([sources[topic], topic, str(partition)], float(state.watermark_us == NO_WATERMARK))
    return gauge


def _ledgers(tasks: list[tuple[str, TaskState]]) -> Iterable[Metric]:
    inputs = CounterMetricFamily(
        "flagfall_records", "Offsets read, by what was found.", labels=["topic", "partition", "found"]
    )
    views = CounterMetricFamily(
        "flagfall_view_records", "Records by fate in a view.", labels=["view", "topic", "partition", "fate"]
    )
    transactions = CounterMetricFamily(
        "flagfall_transactions", "Transactions of a task.", labels=["group", "partition"]
    )
    for group, task in tasks:
        partition = str(task.partition)
        transactions.add_metric([group, partition], task.marker.sequence)
        for topic, state in task.marker.inputs.items():
            for found in ("decoded", "quarantined", "not_records"):
                inputs.add_metric([topic, partition, found], getattr(state, found))
            inputs.add_metric([topic, partition, "lost"], state.lost_offsets)
        for view, position in task.marker.views.items():
            for topic, fates in position.fates.items():
                for fate in Fate:
                    views.add_metric([view, topic, partition, fate], getattr(fates, fate))
    return inputs, views, transactions


def _quarantined(tasks: list[TaskState]) -> Metric:
    reasons = CounterMetricFamily(
        "flagfall_quarantined_records",
        "Records refused by reason, since this worker took their task over.",
        labels=["topic", "partition", "reason"],
    )
    for task in tasks:
        for (topic, reason), count in task.quarantined.items():
            reasons.add_metric([topic, str(task.partition), reason], count)
    return reasons


def _taken_over(groups: Mapping[str, Directory]) -> Iterable[Metric]:
    took = GaugeMetricFamily("flagfall_take_over_seconds", "How long the last take-over took.", labels=["group"])
    replayed = CounterMetricFamily(
        "flagfall_replayed_records", "Records of changelogs read in take-overs.", labels=["group"]
    )
    for name, directory in groups.items():
        replayed.add_metric([name], directory.replayed_records)
        if directory.took_over_seconds is not None:
            took.add_metric([name], directory.took_over_seconds)
    return took, replayed


def _sizes(tasks: list[TaskState]) -> Iterable[Metric]:
    labels = ["view", "partition"]
    rows = GaugeMetricFamily("flagfall_view_rows", "Rows in a view's table.", labels=labels)
    sizes = GaugeMetricFamily("flagfall_view_bytes", "Memory of its arrays, room to grow included.", labels=labels)
    for task in tasks:
        for view, state in task.views.items():
            rows.add_metric([view, str(task.partition)], len(state))
            sizes.add_metric([view, str(task.partition)], state.nbytes)
    return rows, sizes


def _unclean(tasks: list[TaskState]) -> Metric:
    """What all-time views sum of rules: their rows, summed, so that it is as exact as they are."""
    counted = CounterMetricFamily(
        "flagfall_unclean_records", "Records that a rule holds of.", labels=["view", "partition", "rule"]
    )
    for task in tasks:
        for view, state in task.views.items():
            if sums := _rule_sums(state.view):
                totals = state.select().cells.sum(axis=0)
                for rule, cell in sums.items():
                    counted.add_metric([view, str(task.partition), rule], int(totals[cell]))
    return counted


def _rule_sums(view: View) -> dict[str, int]:
    """Rule to the cell that counts it, of an all-time view."""
    if view.window.ends:
        return {}
    rules, cells = {rule.name for rule in view.source.rules}, view.cells
    sums = (part for part in view.parts if part.op is Op.ADD and part.take is Take.VALUE)
    return {part.column: cells.index(part.name) for part in sums if part.column in rules}


def _verdicts(edge: Edge) -> Iterable[Metric]:
    checked = read_verdicts(edge)
    labels = ["view", "verdict"]
    verdict = GaugeMetricFamily("flagfall_reconciliation_verdict", "1 for a view's last verdict.", labels=labels)
    if checked is None:
        verdict.add_metric(["", UNREADABLE], 1)
    residual, begun, finished, cut = (
        GaugeMetricFamily(f"flagfall_reconciliation_{name}", text, labels=["view"]) for name, text in _OF_RUNS.items()
    )
    for view, one in (checked or {}).items():
        begun.add_metric([view], one.begun.begun_at.timestamp())
        if one.finished is None:
            continue
        verdict.add_metric([view, one.finished.verdict.value], 1)
        finished.add_metric([view], one.finished.finished_at.timestamp())
        if one.finished.cut_at is not None:
            cut.add_metric([view], one.finished.cut_at.timestamp())
        if one.finished.residual is not None:
            residual.add_metric([view], one.finished.residual)
    yield from (verdict, residual, begun, finished, cut)


_OF_RUNS = {
    "residual_rows": "Rows with an unexplained difference, by the last verdict.",
    "begun_timestamp_seconds": "When the last run began; later than the last end: it runs, or it did not end.",
    "finished_timestamp_seconds": "When the run of the last verdict ended.",
    "cut_timestamp_seconds": "When the last run that compared rows began, and fetched them.",
}

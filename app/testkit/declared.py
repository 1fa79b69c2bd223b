"""What a harness is given to test: checked, put together, and numbered as a registry would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.codecs.avro.schema import Schemas
from app.codecs.batches.record_headers import Headers
from app.codecs.stored.advance_requests import encode_request
from app.domain.advance import AdvanceRequest, refusal_of_request
from app.domain.branch import Branch
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value
from app.domain.source import Source, with_derived
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.testkit.admission import HarnessError, require_whole
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.encoding import encode, filled, schema_of
from app.testkit.releases import alert_over, branch_over, join_over


@dataclass(frozen=True)
class Declared:
    """The definition of the tasks, and the schemas that their topics are written by."""

    definition: TaskDefinition
    schemas: Schemas

    def source_of(self, topic: str) -> Source:
        """The source of a topic of records; HarnessError if it is none."""
        source = self.definition.by_topic.get(topic) if isinstance(topic, str) else None
        if source is None:
            there = ", ".join(self.definition.by_topic)
            raise HarnessError(f"no source here has topic {topic!r}; there are {there}")
        return source

    def require(self, view: View) -> None:
        """HarnessError unless the view is one of these."""
        if self.definition.by_name.get(view.name) != view:
            there = ", ".join(self.definition.by_name) or "none"
            raise HarnessError(
                f"view {view.name!r} (over source {view.source.name!r}) is not in this harness; its views: {there}"
            )

    def require_final(self, view: View) -> None:
        """HarnessError unless the view is one of these and publishes finals."""
        self.require(view)
        if view.name not in self.definition.finals:
            there = ", ".join(self.definition.finals) or "none"
            raise HarnessError(
                f"view {view.name!r} publishes no finals here: name it in finals=; those that do: {there}"
            )

    def require_pairing(self, one: Pairing, what: str, here: Sequence[Pairing]) -> None:
        """HarnessError unless it is one of those here, which are `what`."""
        if one not in here:
            there = ", ".join(each.name for each in here) or "none"
            raise HarnessError(f"{one.name} is a {type(one).__name__}, not {what} of this harness; there: {there}")

    def record(
        self,
        topic: str,
        values: Mapping[str, Value],
        key: bytes | None = None,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> SentRecord:
        """A record as a producer sends it; without `timestamp_ms` it is punctual. RecordError if the values do not fit
        the topic's source."""
        source = self.source_of(topic)
        if not isinstance(values, Mapping):
            raise HarnessError(f"{topic}: values are a {type(values).__name__}, not columns by name")
        value = encode(source, _numbers(self.definition.sources)[source.name], values)
        if timestamp_ms is None:
            reported_us = with_derived(source, filled(source, values))[source.reported_at]
            timestamp_ms = max(0, int(reported_us or 0) // 1000)
        return SentRecord(key, value, headers, timestamp_ms)

    def advance_request(self, topic: str, partition: int, watermark_us: int) -> SentRecord:
        """A request to raise a watermark, as `flagfall advance` sends it; HarnessError if its task would refuse it."""
        source = self.source_of(topic)
        require_whole(topic, "watermark_us", watermark_us, "microseconds")
        request = AdvanceRequest(topic, partition, watermark_us)
        if refusal_of_request(request, {topic: source}, partition):
            raise HarnessError(f"{watermark_us} is no instant of {source.name}: {source.instants_us}, both inclusive")
        return SentRecord(None, encode_request(request))

    def released(self, views: Sequence[View]) -> Declared:
        """The tasks of the next release, with these views; DefinitionError if one is over another source."""
        changed, now = {view.source.name: view.source for view in views}, self.definition
        definition = replace(
            now,
            sources=tuple(changed.get(source.name, source) for source in now.sources),
            views=tuple(views),
            joins=tuple(join_over(join, changed) for join in now.joins),
            alerts=tuple(alert_over(alert, changed) for alert in now.alerts),
            branches=tuple(branch_over(branch, changed) for branch in now.branches),
        )
        return replace(self, definition=definition)


def declared(
    views: Sequence[View],
    joins: Sequence[Join],
    finals: Sequence[View],
    alerts: Sequence[Alert],
    branches: Sequence[Branch],
    partitions: int,
    application: str,
) -> Declared:
    """HarnessError for what is no definition at all, DefinitionError if they do not fit together."""
    _check(views, joins, finals, alerts, branches, partitions)
    paired = [half.source for join in joins for half in (join.left, join.right)]
    watched = [alert.starts.source for alert in alerts]
    told = [view.source for view in (*views, *finals)]
    sources = tuple(dict.fromkeys(told + paired + watched + [branch.source for branch in branches]))
    writers: tuple[Pairing, ...] = (*joins, *alerts)
    read = _numbers(sources)
    written = {one.output.name: len(read) + number for number, one in enumerate(writers, 1)}
    definition = TaskDefinition(
        application,
        sources,
        tuple(dict.fromkeys((*views, *finals))),
        tuple(joins),
        tuple(view.name for view in finals),
        partitions,
        written,
        tuple(branches),
        tuple(alerts),
    )
    of_sources = {read[source.name]: schema_of(source, read[source.name]) for source in sources}
    of_writers = {written[one.output.name]: schema_of(one.source, written[one.output.name]) for one in writers}
    return Declared(definition, of_sources | of_writers)


def _numbers(sources: Sequence[Source]) -> dict[str, int]:
    """The schema ids of sources, by name."""
    return {source.name: number for number, source in enumerate(sources, 1)}


def _check(
    views: Sequence[View],
    joins: Sequence[Join],
    finals: Sequence[View],
    alerts: Sequence[Alert],
    branches: Sequence[Branch],
    partitions: int,
) -> None:
    kinds = ((View, (*views, *finals)), (Join, joins), (Alert, alerts), (Branch, branches))
    for kind, given in kinds:
        for one in given:
            if not isinstance(one, kind):
                raise HarnessError(f"{one!r} is a {type(one).__name__}, not a {kind.__name__}")
    if partitions < 1:
        raise HarnessError(f"partitions: {partitions}; there must be one at least")

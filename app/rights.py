"""What each part may do in Kafka, and no more: by role, out of the same entries as the topics.

`flagfall rights` shows and grants them; docs/rights.md says how users, passwords and certificates come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

from app.base import names
from app.base.kafka.acls import CLUSTER_NAME, Acl, Operation, Resource
from app.base.kafka.cluster import UNUSED_GROUP
from app.base.kafka.own_rights import lacking
from app.base.kafka.topic import Topic
from app.base.settings import Settings
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.errors import FlagfallError
from app.topics import (
    branch_topics,
    finals_topics,
    intake_topics,
    needed_topics,
    pairing_topics,
    source_topics,
    topics,
    written_topics,
    zones_topic,
)

READ, WRITE, DESCRIBE, SETTINGS = Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS
Why = tuple[Acl, str]
HOW_FAR = "knows how far a sink of Connect is"


class RightsMissing(FlagfallError):
    """Kafka lets who asks do less than a role needs; the text says what, what for, and who can give it."""


class KafkaRole(StrEnum):
    """Who asks Kafka for something; a user may have several."""

    PRODUCER = "producer"
    WORKER = "worker"
    RECONCILE = "reconcile"
    MENDER = "mender"
    READER = "reader"
    ADMIN = "admin"


ROLES: Mapping[KafkaRole, str] = {
    KafkaRole.PRODUCER: "flagfall generate, replay, zones publish: writes records",
    KafkaRole.WORKER: "flagfall worker; while none runs, rebuild and accept-loss",
    KafkaRole.RECONCILE: "flagfall reconcile, third, late show, connect check: reads all of it, writes nothing",
    KafkaRole.MENDER: "what reconcile may, and reconcile --repair apply, late refeed, advance",
    KafkaRole.READER: "programs that read what is published, in groups named <app>.readers.…",
    KafkaRole.ADMIN: "flagfall topics, zones publish, doctor; with what worker may, widen",
}
"""What each is for."""


def rights(settings: Settings, catalogue: Catalogue, role: KafkaRole) -> dict[Acl, str]:
    """All that the role needs, with the reason."""
    return dict(_OF_ROLE[role](settings, catalogue))


def require_rights(settings: Settings, catalogue: Catalogue, role: KafkaRole) -> None:
    """Raises RightsMissing with all that Kafka says it does not let us do, KafkaUnavailable where it says nothing.

    It says that of topics that are there and of groups (`lacking`); of transactions when the first begins."""
    _require(settings, role, rights(settings, catalogue, role))


def require_writes(settings: Settings, role: KafkaRole, topics: Iterable[str]) -> None:
    """The same of sending records to some topics, which `role` may. Librdkafka's client does not live to tell of it."""
    _require(settings, role, {Acl(Resource.TOPIC, topic, WRITE): "sends records" for topic in topics})


def require_table_check(settings: Settings, finals: str, group: str) -> None:
    """The same of comparing a table with a topic of finals, and with how far its sink is, which `reconcile` may."""
    needed = {Acl(Resource.TOPIC, finals, READ): "compares it", Acl(Resource.GROUP, group, DESCRIBE): HOW_FAR}
    _require(settings, KafkaRole.RECONCILE, needed | dict(_asks()))


def _require(settings: Settings, role: KafkaRole, needed: Mapping[Acl, str]) -> None:
    if missing := lacking(settings.kafka, needed):
        user = settings.kafka.sasl_username or "USER"
        raise RightsMissing(
            f"Kafka does not give {user} all that a {role} needs:\n"
            + "\n".join(f"  {acl.operation} on the {acl.resource} {acl.name}: {needed[acl]}" for acl in missing)
            + f"\n`flagfall rights grant {role} {user}` gives it, as who may alter the cluster"
        )


def _producer(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    written = [topic for topic in _records(settings, catalogue) if topic.name not in catalogue.passed_on]
    yield from _all([*written, zones_topic(settings)], {WRITE: "sends records", SETTINGS: "sees whether it is right"})


def _worker(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    yield from _all(needed_topics(settings, catalogue), {SETTINGS: "refuses one by which figures would be wrong"})
    yield from _all(_records(settings, catalogue), {READ: "counts its records"})
    yield from _all([zones_topic(settings)], {READ: "joins names to answers", SETTINGS: "tells how it is kept"})
    for group in catalogue.groups:
        yield from _task(settings, group)
    if settings.http.intake:
        yield from _all(_records(settings, catalogue), {WRITE: "takes records over HTTP"})
        yield from _all(intake_topics(settings), {READ: "knows requests again", WRITE: "keeps what it answered"})
        yield from _commits(settings, names.INTAKE)
    yield from _asks()
    yield Acl(Resource.GROUP, settings.app_id, READ), "shares tasks with the others"


def _task(settings: Settings, group: TaskGroup) -> Iterator[Why]:
    app = settings.app_id
    asked = {names.advance_requests_topic(app, group.name), names.corrections_topic(app, group.name)}
    sent = {names.late_topic(app), names.unmatched_topic(app), *(o for one in group.branches for o in one.outputs)}
    for topic in written_topics(settings, group):
        if topic.name not in sent:
            yield Acl(Resource.TOPIC, topic.name, READ), "goes on, or answers, from it"
        if topic.name not in asked:
            yield Acl(Resource.TOPIC, topic.name, WRITE), "keeps it in its transactions"
    yield from _commits(settings, group.name)


def _commits(settings: Settings, group: str) -> Iterator[Why]:
    prefix = names.transactional_ids(settings.app_id, group)
    yield Acl(Resource.TRANSACTIONAL_ID, prefix, WRITE, is_prefix=True), "commits exactly once"


def _reconcile(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    app, sees = settings.app_id, {SETTINGS: "sees whether it holds all"}
    yield from _all(_records(settings, catalogue), {READ: "recomputes from it", **sees})
    read = {names.advances_topic(app), names.corrected_topic(app), names.late_topic(app), names.quarantine_topic(app)}
    for group in catalogue.groups:
        changelog = names.changelog_topic(app, group.name)
        published = {topic.name for topic in _results(settings, group)}
        for name in sorted(read | published | {changelog}):
            yield Acl(Resource.TOPIC, name, READ), "compares it, or explains by it"
        yield Acl(Resource.TOPIC, changelog, SETTINGS), sees[SETTINGS]
        for named in (names.closing_topic, names.advance_requests_topic, names.corrections_topic):
            yield Acl(Resource.TOPIC, named(app, group.name), DESCRIBE), "knows how far tasks are to read it"
    yield Acl(Resource.GROUP, names.SINK_GROUPS, DESCRIBE, is_prefix=True), HOW_FAR
    yield from _asks()


def _asks() -> Iterator[Why]:
    yield Acl(Resource.GROUP, UNUSED_GROUP, DESCRIBE), "asks for ends of logs; Kafka's client looks for it"


def _mender(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    yield from _reconcile(settings, catalogue)
    yield from _all(topics(settings, catalogue), dict.fromkeys((DESCRIBE, SETTINGS), "refuses one that workers would"))
    for group in catalogue.groups:
        asked = names.corrections_topic(settings.app_id, group.name)
        raised = names.advance_requests_topic(settings.app_id, group.name)
        yield Acl(Resource.TOPIC, asked, WRITE), "asks for rows to be corrected"
        yield Acl(Resource.TOPIC, raised, WRITE), "asks for watermarks to be raised"


def _reader(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    for group in catalogue.groups:
        yield from _all(_published(settings, group), {READ: "reads what is published"})
    yield Acl(Resource.GROUP, f"{settings.app_id}.readers.", READ, is_prefix=True), "keeps its places"


def _admin(settings: Settings, catalogue: Catalogue) -> Iterator[Why]:
    whys = {
        Operation.CREATE: "makes it",
        DESCRIBE: "sees whether it is there",
        SETTINGS: "compares its settings",
    }
    of_all, of_zones = topics(settings, catalogue), [zones_topic(settings)]
    yield from _all(of_all, whys)
    yield from _all(of_zones, {WRITE: "fills it once it is made"})
    divided = [topic for topic in of_all if topic not in of_zones]
    yield from _all(divided, {Operation.ALTER: "gives it more partitions"})
    yield Acl(Resource.CLUSTER, CLUSTER_NAME, SETTINGS), "compares the brokers' settings"


_OF_ROLE: Mapping[KafkaRole, Callable[[Settings, Catalogue], Iterator[Why]]] = {
    KafkaRole.PRODUCER: _producer,
    KafkaRole.WORKER: _worker,
    KafkaRole.RECONCILE: _reconcile,
    KafkaRole.MENDER: _mender,
    KafkaRole.READER: _reader,
    KafkaRole.ADMIN: _admin,
}


def _records(settings: Settings, catalogue: Catalogue) -> list[Topic]:
    return [topic for source in catalogue.sources for topic in source_topics(settings, source)]


def _published(settings: Settings, group: TaskGroup) -> list[Topic]:
    return [*_results(settings, group), *branch_topics(settings, group.branches)]


def _results(settings: Settings, group: TaskGroup) -> list[Topic]:
    return [*finals_topics(settings, group.finals), *pairing_topics(settings, group.pairing)]


def _all(entries: Iterable[Topic], whys: Mapping[Operation, str]) -> Iterator[Why]:
    for topic in entries:
        for operation, why in whys.items():
            yield Acl(Resource.TOPIC, topic.name, operation), why

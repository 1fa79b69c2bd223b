"""What is asked of a cluster follows from the settings, has a reason each, and stands in the docs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from app.base.kafka.broker_admin import BrokerSetting
from app.base.kafka.demand import Requirement
from app.base.kafka.demands import broker_demands, demands_of_topics, entry_demands
from app.base.settings import Settings
from app.domain.catalogue import Catalogue, TaskGroup
from app.edge.cli.machine.doctor_cluster import of_brokers, of_topics
from app.rides.ride import RIDES
from app.rides.shipped import shipped
from app.rides.views import VIEWS
from app.topics import topics

PAGE = Path(__file__).parents[4] / "docs" / "broker-settings.md"
RIDES_ALONE = Catalogue((TaskGroup((RIDES,), VIEWS),))
"""What the page is about: another source's topics are asked the same, and it need not name them."""


@pytest.fixture
def usual() -> Settings:
    """Three copies of each topic, all else as it comes."""
    return Settings.load(topics={"replication_factor": 3})


def named(demands: Iterable[Requirement]) -> dict[str, Requirement]:
    return {demand.name: demand for demand in demands}


@pytest.mark.parametrize(
    ("demand", "wanted", "good", "bad"),
    [
        (Requirement("a", "", exactly="false"), "false", ["false"], ["true", "", None]),
        (Requirement("a", "", least=5), "5 or more", ["5", "6"], ["4", "-1", "x", "", None]),
        (Requirement("a", "", most=5), "5 or less", ["5", "-1"], ["6", "1e1", None]),
        (Requirement("a", "", least=5, most=7), "5 to 7", ["5", "7"], ["4", "8", None]),
    ],
)
def test_a_demand_admits_what_it_says(demand: Requirement, wanted: str, good: list[str], bad: list[str | None]) -> None:
    assert demand.wanted == wanted
    assert all(demand.admits(value) for value in [*good, demand.value])
    assert not any(demand.admits(value) for value in bad)


def test_bounds_follow_from_the_settings() -> None:
    settings = Settings.load(worker={"session_timeout_seconds": 45.5}, topics={"replication_factor": 1})
    asked = named(broker_demands(settings))
    assert asked["group.min.session.timeout.ms"].most == asked["group.max.session.timeout.ms"].least == 45_500
    assert asked["controlled.shutdown.enable"].exactly == "false"
    assert "transaction.state.log.min.isr" not in asked


@pytest.mark.parametrize(("replicas", "wanted"), [(1, "1 or less"), (2, "1 or less"), (3, "2"), (5, "2")])
def test_a_write_waits_for_fewer_copies_than_there_are(replicas: int, wanted: str) -> None:
    settings = Settings.load(topics={"replication_factor": replicas})
    asked = [demand for demand in demands_of_topics(topics(settings)) if demand.name == "min.insync.replicas"]
    assert [demand.wanted for demand in asked] == [wanted]


def test_every_setting_of_every_topic_has_a_reason(usual: Settings) -> None:
    on = usual.model_copy(update={"lifecycle": True, "branches": True})
    for topic in topics(on, shipped(on)):
        assert all(demand.reason for demand in entry_demands(topic))
        assert {demand.name: demand.value for demand in entry_demands(topic)} == topic.settings


def test_what_is_not_met_says_what_why_and_how_to_change_it(usual: Settings) -> None:
    asked = named(broker_demands(usual))
    session, isr = asked["group.min.session.timeout.ms"], asked["transaction.state.log.min.isr"]
    told = {1: {session.name: BrokerSetting("60000", at_start=True)}, 2: {session.name: BrokerSetting("6000", True)}}
    finding = of_brokers(session, told, "one:9092")
    assert finding.grade == "fault"
    assert finding.found == "group.min.session.timeout.ms is 60000 (broker 1); wanted 10000 or less"
    assert finding.advice.endswith(
        "group.min.session.timeout.ms=10000 in server.properties, and start the broker again."
    )
    assert session.reason in finding.advice
    assert of_brokers(isr, told, "one:9092").grade == "note"

    (unclean,) = (d for d in demands_of_topics(topics(usual)) if d.name == "unclean.leader.election.enable")
    finding = of_topics(unclean, {"a": "false", "b": "true"}, "one:9092")
    assert (finding.grade, finding.found) == ("fault", f"{unclean.name} is true (b); wanted false")
    assert finding.advice.endswith(
        "kafka-configs.sh --bootstrap-server one:9092 --alter --entity-type topics --entity-name b "
        "--add-config unclean.leader.election.enable=false"
    )
    met = of_topics(unclean, dict.fromkeys("abcd", "false"), "one:9092")
    assert (met.grade, met.found) == ("ok", f"{unclean.name} is false (a, b and 2 more); wanted false")


def test_the_page_has_every_demand_as_the_program_has_it(usual: Settings) -> None:
    """docs/broker-settings.md: what this gives, pasted."""
    alone = Settings.load(topics={"replication_factor": 1})
    page = PAGE.read_text()
    assert brokers_table(usual, broker_demands(usual)) in page
    assert topics_table(usual) in page
    more = set(broker_demands(alone)) - set(broker_demands(usual))
    assert brokers_table(alone, (demand for demand in broker_demands(alone) if demand in more)) in page


def brokers_table(settings: Settings, demands: Iterable[Requirement]) -> str:
    rows = [f"| `{d.name}` | {d.wanted} | {_grade(d)} | {d.reason} |" for d in demands]
    return "\n".join(["| setting | wanted | else | why |", "|---|---|---|---|", *rows, ""])


def topics_table(settings: Settings) -> str:
    there = topics(settings, RIDES_ALONE)
    names = [topic.name for topic in there]
    rows = [
        f"| `{d.name}` | {_where(names, asked)} | {d.wanted} | {_grade(d)} | {d.reason} |"
        for d, asked in demands_of_topics(there).items()
    ]
    return "\n".join(["| setting | topics | wanted | else | why |", "|---|---|---|---|---|", *rows, ""])


def _grade(demand: Requirement) -> str:
    return "fault" if demand.required else "note"


def _where(names: list[str], asked: list[str]) -> str:
    """The shorter of which topics and which not."""
    others = [name for name in names if name not in asked]
    if not others:
        return "all"
    return ", ".join(asked) if len(asked) <= len(others) else f"all but {', '.join(others)}"

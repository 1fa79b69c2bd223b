"""`flagfall topics`: the list, what the cluster has of it, and its creation."""

from __future__ import annotations

import click

from app.edge.cli.common import bootstrap_option, echo_json, echo_table, json_option, load_catalogue, load_settings


@click.group()
def command() -> None:
    """List, create and check the topics.

    \b
    flagfall topics list
    flagfall topics create --bootstrap-server 127.0.0.1:19092
    flagfall topics check --json
    """


@command.command("list")
@json_option
def list_topics(as_json: bool) -> None:
    """Every topic with partitions and retention (keys and values with --json); asks no broker."""
    from app.topics import topics

    settings = load_settings()
    entries = topics(settings, load_catalogue(settings))
    if as_json:
        return echo_json([_facts(topic) for topic in entries])
    kept = ("forever" if t.retention_ms < 0 else f"{t.retention_ms} ms" for t in entries)
    rows = [(t.name, t.partitions, t.cleanup, k, t.help) for t, k in zip(entries, kept, strict=True)]
    echo_table(("TOPIC", "PARTITIONS", "CLEANUP", "KEPT", "WHAT"), rows)


@command.command()
@bootstrap_option
@json_option
def create(bootstrap_server: str | None, as_json: bool) -> None:
    """Create the topics that are missing. One that exists and differs from its entry is an error."""
    from app.base.kafka.topic_admin import create_topics
    from app.topics import topics

    settings = load_settings(bootstrap_server)
    entries = topics(settings, load_catalogue(settings))
    created = create_topics(settings.kafka, entries)
    if as_json:
        return echo_json({"created": created, "present": [t.name for t in entries if t.name not in created]})
    for topic in entries:
        click.echo(f"{'created' if topic.name in created else 'present'}  {topic.name}")


@command.command()
@bootstrap_option
@json_option
def check(bootstrap_server: str | None, as_json: bool) -> int:
    """Compare the cluster's topics with the list; exit 1 if one is missing or differs."""
    from app.base.kafka.topic_admin import topic_states
    from app.topics import topics

    settings = load_settings(bootstrap_server)
    states = topic_states(settings.kafka, topics(settings, load_catalogue(settings)))
    if as_json:
        echo_json([{"topic": s.topic.name, "exists": s.exists, "differences": s.differences} for s in states])
    else:
        words = ("; ".join(s.differences) or ("as it should be" if s.exists else "missing") for s in states)
        echo_table(("TOPIC", "STATE"), [(s.topic.name, word) for s, word in zip(states, words, strict=True)])
    return 0 if all(s.exists and not s.differences for s in states) else 1


def _facts(topic: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(topic)  # type: ignore[call-overload,no-any-return]

"""Names of what the application itself keeps in Kafka, each once."""

from __future__ import annotations


def changelog_topic(application: str, source: str) -> str:
    """Faust's own naming: the source is a table of the application."""
    return f"{application}-{source}-changelog"


def late_topic(application: str) -> str:
    return f"{application}.late"


def quarantine_topic(application: str) -> str:
    return f"{application}.quarantine"


def advance_requests_topic(application: str, source: str) -> str:
    """Co-partitioned with the source: an input of its tasks."""
    return f"{application}.{source}.advance-requests"


def advances_topic(application: str) -> str:
    """What was done about requests; an input of every recomputation, never deleted."""
    return f"{application}.advances"


def transactional_id(application: str, source: str, partition: int) -> str:
    """One per task: whoever initialises it fences the former owner."""
    return f"{application}-{source}-{partition}"

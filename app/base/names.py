"""Names of what the application itself keeps in Kafka, each once."""

from __future__ import annotations


def changelog_topic(application: str, source: str) -> str:
    """Faust's own naming: the source is a table of the application."""
    return f"{application}-{source}-changelog"


def begun_topic(application: str) -> str:
    """In which changelogs tasks have begun, beside these: partition p is written by the tasks p of all groups."""
    return f"{application}.begun"


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


def corrections_topic(application: str, group: str) -> str:
    """Co-partitioned with the sources: an input of their tasks (rule 23)."""
    return f"{application}.{group}.corrections"


def corrected_topic(application: str) -> str:
    """What became of each correction: applied, or refused and why."""
    return f"{application}.corrected"


def closing_topic(application: str, group: str) -> str:
    """Rows of closed windows on their way to become finals: written by all tasks, read by one per partition."""
    return f"{application}-{group}-closing"


def finals_topic(view: str) -> str:
    """Final rows of a view's windows, for everybody."""
    return f"windows.{view}"


def unmatched_topic(application: str) -> str:
    """Halves of joins that nobody met in time."""
    return f"{application}.unmatched"


def connect_group(application: str) -> str:
    """Of Kafka Connect's workers, who share connectors."""
    return f"{application}-connect"


def connect_topics(application: str) -> dict[str, str]:
    """What its workers know, by what it is. They make these topics."""
    return {what: f"{application}-connect-{what}" for what in ("config", "offset", "status")}


SINK_GROUPS = "connect-"
"""That the groups of Connect's sinks begin with; Connect's own naming."""


def sink_group(connector: str) -> str:
    """In which a sink reads its topics, and commits how far it is."""
    return f"{SINK_GROUPS}{connector}"


LANES = 4
INTAKE = "intake"
"""In which an application writes what requests bring. Never another number: a key's lane follows from it."""


def received_topic(application: str) -> str:
    """What was answered to requests that wrote records, by their idempotency keys; partition p is of lane p."""
    return f"{application}.received"


def subject_of(topic: str) -> str:
    """Where a registry keeps the schemas of a topic's values."""
    return f"{topic}-value"


def intake_id(application: str, lane: int) -> str:
    """One per lane: whoever initialises it ends what the lane's former holder left undone."""
    return f"{transactional_ids(application, INTAKE)}{lane}"


def transactional_id(application: str, source: str, partition: int) -> str:
    """One per task: whoever initialises it fences the former owner."""
    return f"{transactional_ids(application, source)}{partition}"


def transactional_ids(application: str, source: str) -> str:
    """What those of a source's tasks begin with, or of the lanes of INTAKE."""
    return f"{application}-{source}-"

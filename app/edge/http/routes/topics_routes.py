"""Addresses of topics: what is in them, and records in."""

from __future__ import annotations

from app.base.scopes import KeyScope
from app.edge.http.documents import parameters
from app.edge.http.documents.intake_schema import BROUGHT
from app.edge.http.documents.refusals import (
    NO_TOPIC,
    NOT_NOW,
    NOT_TAKEN,
)
from app.edge.http.intake import intake_handler
from app.edge.http.intake.brought import JSON, LINES
from app.edge.http.route import (
    INTAKES,
    SEARCHES,
    Route,
)
from app.edge.http.topics import topic_handlers

TOPICS_ROUTES = (
    Route("/v1/topics", topic_handlers.list_topics, "topics", "topics", "The application's topics.", "Topics"),
    Route(
        "/v1/topics/{topic}",
        topic_handlers.show_topic,
        "topic",
        "topics",
        "A topic, and who reads it.",
        "Topic",
        gate=SEARCHES,
        parameters=parameters.of_one_topic,
        refuses=NOT_NOW | NO_TOPIC,
    ),
    Route(
        "/v1/topics/{topic}/records",
        intake_handler.take_records,
        "records",
        "intake",
        "Records in.",
        "Taken",
        gate=INTAKES,
        scope=KeyScope.WRITE,
        parameters=parameters.of_intake,
        refuses=NOT_TAKEN,
        method="POST",
        body=BROUGHT,
        sent=(JSON, LINES),
    ),
    Route(
        "/v1/rides",
        intake_handler.take_rides,
        "rides",
        "intake",
        "Rides in.",
        "Taken",
        gate=INTAKES,
        scope=KeyScope.WRITE,
        parameters=parameters.of_rides,
        refuses=NOT_TAKEN,
        method="POST",
        body=BROUGHT,
        sent=(JSON, LINES),
    ),
)

"""The edge as an aiohttp application, wired. The worker lets it answer inside Faust's own loop:

async with listening(create_app(groups, verdicts), settings.worker.http_host, settings.worker.http_port):
    ...
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from aiohttp import ClientSession, TCPConnector, hdrs, web
from prometheus_client import CollectorRegistry, disable_created_metrics

from app.base.access_settings import AccessSettings
from app.base.files.verdicts import LastVerdicts
from app.base.setting_groups import HttpSettings
from app.base.worker_door import trusted_by
from app.edge.http.changes.feeds import FEEDS, Feeds
from app.edge.http.context import EDGE, Edge, ServedGroup
from app.edge.http.documents.openapi import DOCUMENT, api_document
from app.edge.http.entry.access import ACCESS, Access, keys_watched, known_caller
from app.edge.http.entry.admission import ADMISSION, Admission, admitted
from app.edge.http.entry.connections import CONNECTIONS, CallersConnections, known_connection
from app.edge.http.entry.given import given_in_pieces
from app.edge.http.entry.nowhere import add_nowhere
from app.edge.http.entry.security import bounded_address, readable_head, secure_headers, unread_body
from app.edge.http.operation.metrics import add_metrics, timed
from app.edge.http.positions.standing import POSITIONS, PositionWatch
from app.edge.http.problems import problem_middleware
from app.edge.http.query.seal import SEAL, Seal
from app.edge.http.query.served_names import check_names
from app.edge.http.routes.every_route import ROUTES
from app.edge.http.zone_names import Names
from app.edge.intake.intake import Intake
from app.edge.published.known_topics import KnownTopics
from app.edge.published.result_log import ResultLog
from app.engine.drive.questions import AskAwaited
from app.engine.drive.watch.liveness import Liveness
from app.rides.zone_map import ZoneMap

ENTRY = (
    known_connection,
    timed,
    problem_middleware,
    given_in_pieces,
    readable_head,
    known_caller,
    bounded_address,
    admitted,
)
"""What each request passes, from the outside."""


def create_app(
    groups: Sequence[ServedGroup],
    verdicts: LastVerdicts,
    *,
    liveness: Liveness | None = None,
    registry: CollectorRegistry | None = None,
    names: Names | None = None,
    limits: HttpSettings | None = None,
    awaited_schemas: AskAwaited = tuple,
    history: Path | None = None,
    zone_map: ZoneMap | None = None,
    access: AccessSettings | None = None,
    results: ResultLog | None = None,
    intake: Intake | None = None,
    topics: KnownTopics | None = None,
) -> web.Application:
    """The application of one worker, which answers for these task groups.

    `liveness` tells whether the worker gets on (without it, it counts as alive). `verdicts` is where `flagfall
    reconcile` leaves them; `registry` may hold metrics of the worker's own, shown beside those of the tables.
    `names` are those of zones; without them answers have none. `limits`: what callers may ask at once.
    `awaited_schemas` gives the ids that tasks wait for. `history`: the folder of what reconciliations of the
    application have kept. `zone_map`: where zones lie, tiles without one.
    `access`: who may ask, and by which key other workers are asked. `results`: what tasks have published. `intake`:
    what writes records that callers send, which it closes; none are taken without one. `topics`:
    the application's.
    """
    edge = Edge(groups, verdicts, liveness, names, limits, awaited_schemas, history, zone_map, results, intake, topics)
    views = tuple(edge.views.values())
    check_names(views)
    app = web.Application(middlewares=ENTRY)
    app[EDGE] = edge
    access = AccessSettings() if access is None else access
    app[ACCESS] = Access(access, ROUTES, lambda: edge.own_url)
    app[SEAL] = Seal(access.token)
    app[FEEDS] = Feeds(edge)
    app[DOCUMENT] = api_document(ROUTES, views)
    app[POSITIONS] = PositionWatch(edge)
    admission = app[ADMISSION] = Admission(edge.limits, ROUTES, shared=access.keys_file is not None)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # for each series another, of when it began
    registry = registry or CollectorRegistry()
    registry.register(admission)
    registry.register(app[ACCESS])
    app[CONNECTIONS] = CallersConnections(
        edge.limits.max_connections, edge.limits.quiet_seconds, edge.limits.max_unread_mb * 1_000_000
    )
    registry.register(app[CONNECTIONS])
    add_metrics(app, edge, registry)
    app.on_response_prepare.extend((secure_headers, _named_worker))
    app.cleanup_ctx.extend((partial(_session, access), keys_watched))
    app.on_shutdown.append(_end_streams)
    for route in ROUTES:
        add = app.router.add_get if route.method == hdrs.METH_GET else app.router.add_post
        add(route.path, route.handler, name=route.name, expect_handler=unread_body)
    add_nowhere(app)
    return app


async def _named_worker(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Flagfall-Worker"] = request.app[EDGE].own_url


async def _end_streams(app: web.Application) -> None:
    await app[FEEDS].end()


async def _session(access: AccessSettings, app: web.Application) -> AsyncIterator[None]:
    token = access.token.get_secret_value()
    shown = {hdrs.AUTHORIZATION: f"Bearer {token}"} if token else {}
    async with ClientSession(connector=TCPConnector(ssl=trusted_by(access.ca_file)), headers=shown) as session:
        app[EDGE].session = session
        yield
    app[EDGE].session = None
    if (intake := app[EDGE].intake) is not None:
        intake.close()
    app[EDGE].long_work.close()

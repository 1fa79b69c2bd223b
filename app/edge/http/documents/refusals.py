"""How addresses may answer otherwise than with 200, as the API document tells it; a route names its own."""

from __future__ import annotations

from app.edge.http.problems import MEDIA_TYPE
from app.edge.http.route import ApiDocument


def problem(description: str) -> ApiDocument:
    """A problem document."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


NOT_NOW = {
    "503": problem("The worker, or a partition, cannot answer now; or gets nowhere.")
    | {"headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}}
}
UNUSABLE = {"400": problem("A parameter, or the head of the request, cannot be used.")}
TOO_LONG = {"414": problem("The address is too long, or has too many parameters.")}
UNKNOWN_CALLER = {
    "401": problem("The worker has keys, and the request shows none that counts."),
    "403": problem("The key is for other things."),
    "429": problem("The caller asks more often than it may."),
}
OTHER_HOST = {"421": problem("The worker has no keys, and the request is for another host.")}
NO_FORMAT = {"406": problem("There is no format that Accept names.")}
NO_FILE = {"404": problem("There is no such file.")}
NO_VIEW = {"404": problem("There is no such view.")}
NOT_KEPT = {"404": problem("The history does not have these windows yet.")}
NO_ROW = {"404": problem("There is no such row, or its window has left the tables.")}
NO_TOPIC = {"404": problem("There is no such topic here.")}
NO_RUN = {"404": problem("There is no such run, or its files are gone.")}
TOO_LARGE = {
    "413": problem("It is longer than a request may be."),
    "415": problem("It is no JSON in UTF-8, or compressed otherwise than by gzip or deflate."),
}
HISTORY: dict[str, ApiDocument] = NOT_KEPT | {"500": problem("What the history has of these windows cannot be read.")}
SAME: dict[str, ApiDocument] = {
    "304": {
        "description": "`If-None-Match` names what would be answered.",
        "headers": {"ETag": {"schema": {"type": "string"}}},
    }
}
TOO_MUCH = {"422": problem("A worker would have to fold more rows than one request may.")}
MANY_STREAMS = {"429": problem("The worker has as many open streams as it may.")}
NOT_TAKEN = (
    NOT_NOW
    | TOO_LARGE
    | {
        "404": problem("The topic takes no records."),
        "422": problem("No record can be taken, and why; or the key stands for another request."),
        "429": problem("The worker has as many records in hand as it may; or the caller asks more often than it may."),
    }
)
ELSEWHERE: dict[str, ApiDocument] = {
    "429": problem("The worker gives as many exports as it may."),
    "307": {
        "description": "Another worker owns the partition.",
        "headers": {"Location": {"schema": {"type": "string"}}},
    },
}
NO_ROWS: dict[str, ApiDocument] = {
    "503": {"description": "The page, saying why there are no rows.", "content": {"text/html": {}}}
}

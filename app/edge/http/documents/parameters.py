"""Parameters of addresses, as the API document tells them; a route names its own."""

from __future__ import annotations

from app.base.names import LANES
from app.domain.source import Column
from app.domain.view import View
from app.domain.windows.durations import to_duration
from app.edge.formats import table
from app.edge.formats.format import MOST_DOCUMENTS, MOST_IN_COLUMNS
from app.edge.http.documents.group_schema import value_help, value_schema
from app.edge.http.evidence.asked_row import DEFAULT_RECORDS, MAX_RECORDS
from app.edge.http.intake.brought import KEY, MOST_KEY_LETTERS
from app.edge.http.intake.intake_handler import SERVICE
from app.edge.http.query.arrangement import MAX_TOP, NO_GROUP, among_which, ranking_names, shown_names
from app.edge.http.query.min_position import DEFAULT_WAIT_SECONDS, EXAMPLE
from app.edge.http.query.parameters import FORMAT, MAX_STALENESS, MIN_POSITION, NOT_OF_CHANGES, TO_THE_END, WAIT
from app.edge.http.query.read_query import MAX_STALENESS_US
from app.edge.http.query.rows_query import DEFAULT_LIMIT
from app.edge.http.results.result_handlers import DEFAULT_RESULTS, MAX_RESULTS
from app.edge.http.route import ApiDocument
from app.edge.http.runs.run_handlers import DEFAULT_RUNS, MAX_RUNS
from app.edge.http.topics.topic_handlers import GROUP, MOST_GROUPS
from app.rides.ride import SERVICES


def of_view(view: View | None) -> list[ApiDocument]:
    return [_PARTIAL]


def of_rows(view: View | None) -> list[ApiDocument]:
    return [*_of_query(view, MOST_IN_COLUMNS), _format(), *_REACHING, _MAX_STALENESS]


def of_changes(view: View | None) -> list[ApiDocument]:
    return [told for told in _of_query(view) if told["name"] not in NOT_OF_CHANGES]


def of_evidence(view: View | None) -> list[ApiDocument]:
    if view is None:
        return []
    bounds, groups = [told for told in of_window(view) if told["name"] in _OF_ROW], _groups(view)
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_RECORDS, "default": DEFAULT_RECORDS}
    return [
        *(_parameter(name, value_schema(c), f"As the row has it; {value_help(c)}") | _REQUIRED for name, c in groups),
        *(told | _OF_ROW[told["name"]] for told in bounds if told["name"] == "from" or not view.window.merges),
        _parameter("limit", limit, "Records of a page, at most."),
        _parameter(TO_THE_END, {"type": "boolean", "default": False}, "Also look for records that the row lacks."),
        _CURSOR,
    ]


def of_export(view: View | None) -> list[ApiDocument]:
    return [_parameter("partition", _PARTITION, "The task to export.") | {"required": True}]


def of_parts(view: View | None) -> list[ApiDocument]:
    return [*_of_query(view, MOST_IN_COLUMNS), _MAX_STALENESS, _WANTED]


def of_results(view: View | None) -> list[ApiDocument]:
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": DEFAULT_RESULTS}
    return [
        *of_topic(view),
        _parameter("partition", {"type": "array", "items": _PARTITION}, "Of these partitions alone."),
        _parameter("limit", limit, "Results of a page, at most."),
        _CURSOR,
    ]


def of_topic(view: View | None) -> list[ApiDocument]:
    return [{"name": "topic", "in": "path", "required": True, "schema": {"type": "string"}}]


def of_one_topic(view: View | None) -> list[ApiDocument]:
    groups = {"type": "array", "maxItems": MOST_GROUPS, "items": {"type": "string", "minLength": 1}}
    return [*of_topic(view), _parameter(GROUP, groups, "Consumer groups whose lag is to be told, of whatever program.")]


def of_intake(view: View | None) -> list[ApiDocument]:
    return [*of_topic(view), _IDEMPOTENCY]


def of_rides(view: View | None) -> list[ApiDocument]:
    services = {"type": "string", "enum": [*SERVICES]}
    return [_parameter(SERVICE, services, "Whose rides these are.") | _REQUIRED, _IDEMPOTENCY]


def of_own_intake(view: View | None) -> list[ApiDocument]:
    lane = {"type": "integer", "minimum": 0, "maximum": LANES - 1}
    return [
        _parameter("topic", {"type": "string"}, "Of which records are brought.") | _REQUIRED,
        _parameter("lane", lane, "In which they are written.") | _REQUIRED,
        _IDEMPOTENCY,
    ]


def of_tasks(view: View | None) -> list[ApiDocument]:
    return [_GROUP | {"schema": {"type": "array", "items": {"type": "string"}}}, _PARTIAL]


def of_own_tasks(view: View | None) -> list[ApiDocument]:
    return [_GROUP | {"required": True}, _WANTED]


def of_own_tables(view: View | None) -> list[ApiDocument]:
    instant = {"type": "string", "format": "date-time"}
    return [
        _parameter("view", {"type": "array", "items": {"type": "string"}}, "Views of one task group."),
        _WANTED,
        _parameter("from", instant, "Windows that start at this instant or later."),
        _parameter("to", instant, "Windows that start before this instant."),
    ]


def of_file(view: View | None) -> list[ApiDocument]:
    return [{"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}]


def of_runs(view: View | None) -> list[ApiDocument]:
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_RUNS, "default": DEFAULT_RUNS}
    return [_parameter("limit", limit, "The newest so many.")]


def of_run(view: View | None) -> list[ApiDocument]:
    return [{"name": "run", "in": "path", "required": True, "schema": {"type": "string"}}]


def _of_query(view: View | None, most_rows: int = MOST_DOCUMENTS) -> list[ApiDocument]:
    if view is None:
        return []
    groups = [_filter(name, column) for name, column in _groups(view)]
    return [*groups, *of_window(view), *_of_arrangement(view), _limit(most_rows), *_COMMON]


def _filter(name: str, column: Column) -> ApiDocument:
    told = f"{column.help or name}; repeatable; {value_help(column)}"
    return _parameter(name, {"type": "array", "items": value_schema(column)}, told)


def _groups(view: View) -> list[tuple[str, Column]]:
    return [(group.name, view.source.by_name[group.column]) for group in view.groups]


def of_window(view: View) -> list[ApiDocument]:
    """Which windows are asked for, as the view's kind of window allows."""
    if not view.window.ends:
        return []
    instant = {"type": "string", "format": "date-time"}
    bounds = [
        _parameter("from", instant, "Windows that start at this instant or later."),
        _parameter("to", instant, "Windows that start before this instant; with last, where its window ends."),
    ]
    if view.window.panes is None:
        return bounds
    pane = to_duration(view.window.panes.size_us)
    return [
        *bounds,
        _parameter("window", _DURATION | {"default": pane}, f"Length of the windows, a multiple of the pane, {pane}."),
        _parameter("step", _DURATION, "With window: how often one begins, if they overlap; a multiple of the pane."),
        _parameter("last", _DURATION, f"One window: as much before `to`, or before meta.as_of; a multiple of {pane}."),
    ]


def _of_arrangement(view: View) -> list[ApiDocument]:
    kept = [*(group.name for group in view.groups), NO_GROUP]
    return [
        _parameter(
            "group_by",
            _some_of(kept),
            f"Groups that rows keep, the others are merged; repeatable; {NO_GROUP}: no group.",
        ),
        _parameter("top", {"type": "integer", "minimum": 1, "maximum": MAX_TOP}, "So many rows, the highest first."),
        _parameter("by", _one_of(ranking_names(view)), "With top: which value decides."),
        _parameter(
            "among",
            _one_of([*among_which(view)]),
            "With top: the highest of each window, of each group, or of all rows.",
        ),
        _parameter(
            "measures", _some_of(shown_names(view)), "Measures and figures to tell; repeatable; all without it."
        ),
    ]


def _one_of(words: list[str]) -> ApiDocument:
    """The first where none is given."""
    return {"type": "string", "enum": words, "default": words[0]}


def _some_of(words: list[str]) -> ApiDocument:
    return {"type": "array", "items": {"type": "string", "enum": words}}


def _limit(most_rows: int) -> ApiDocument:
    schema = {"type": "integer", "minimum": 1, "maximum": most_rows, "default": DEFAULT_LIMIT}
    in_columns = f", of which only columns (arrow, parquet) may have more than {MOST_DOCUMENTS:,}"
    return _parameter("limit", schema, f"Rows of a page{in_columns if most_rows > MOST_DOCUMENTS else ''}.")


def _format() -> ApiDocument:
    names = [written.name for written in table.FORMATS]
    told = f"How rows are written; without it `Accept` decides, and {names[0]} where all are alike."
    return _parameter(FORMAT, {"type": "string", "enum": names}, told)


def _parameter(name: str, schema: ApiDocument, description: str) -> ApiDocument:
    return {"name": name, "in": "query", "schema": schema, "description": description}


_IDEMPOTENCY: ApiDocument = {
    "name": KEY,
    "in": "header",
    "schema": {"type": "string", "minLength": 1, "maxLength": MOST_KEY_LETTERS, "pattern": "^[ -~]+$"},
    "description": "By which the request is known when it comes again.",
}
_DURATION: ApiDocument = {"type": "string", "pattern": "^[1-9][0-9]{0,8}[smhd]$"}
_PARTITION: ApiDocument = {"type": "integer", "minimum": 0}
_WANTED = _parameter("partition", {"type": "array", "items": _PARTITION}, "Tasks that are wanted.")
_GROUP = _parameter("group", {"type": "string"}, "A task group; /readyz names them.")
_PARTIAL = _parameter(
    "partial",
    {"type": "string", "enum": ["refuse", "allow"], "default": "refuse"},
    "Whether an answer may lack partitions, which it then names.",
)
_CURSOR = _parameter("cursor", {"type": "string", "minLength": 1}, "meta.next_cursor of the page before.")
_REQUIRED = {"required": True}
_OF_ROW: dict[str, ApiDocument] = {
    "from": {"description": "Where the row's window begins: its window.start."} | _REQUIRED,
    "to": {"description": "Where it ends, if it is longer than a window of the view."},
}
_REACHING = [
    _parameter(MIN_POSITION, {"type": "string"}, f"Next offsets that the answer is to cover, as {EXAMPLE}."),
    _parameter(WAIT, {"type": "string", "pattern": "^[1-5]s$", "default": f"{DEFAULT_WAIT_SECONDS}s"}, "For that."),
]
_MAX_STALENESS = _parameter(
    MAX_STALENESS,
    _DURATION,
    f"Where a task cannot be asked: rows of it that may have changed since, so old at most; up to "
    f"{to_duration(MAX_STALENESS_US)}.",
)
_COMMON = [
    _CURSOR,
    _parameter(
        "order",
        {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
        "By window, then group; desc gives the newest first.",
    ),
    _PARTIAL,
]

"""A client that follows changes of rows, and what it follows."""

from __future__ import annotations

from typing import Any

from app.engine.drive.ownership.directory import Directory
from app.rides.views import ZONE_DEMAND
from tests.support.following.event_stream import Event, EventStream
from tests.support.http import Client, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
CHANGES = "/v1/views/zone_demand/changes"
THREE = zone_table((0, 4), (1, 132), (2, 7))


def directory_of(*tables: Any) -> Directory:
    return ready_directory([task_of(p, {ZONE_DEMAND: table}) for p, table in enumerate(tables)])


def put(directory: Directory, table: Any, *, partition: int = 0, watermark_us: int = 0) -> None:
    """Another state of a task, as after a transaction."""
    directory.tasks[partition] = task_of(partition, {ZONE_DEMAND: table}, watermark_us=watermark_us)


def key_of(row: Any) -> str:
    return repr((row.get("window"), row["group"]))


def by_key(rows: list[Any]) -> dict[str, Any]:
    return {key_of(row): row for row in rows}


class Follower:
    """A client that keeps the rows by what events say, in a dictionary, and forgets nothing else."""

    def __init__(self, stream: EventStream, rows: list[Any] | None = None) -> None:
        self.stream, self.rows = stream, by_key(rows or [])

    async def take(self) -> Event:
        """One event that says something of the rows."""
        while (event := await self.stream.next()).id is None:
            pass
        match event.name:
            case "snapshot":
                self.rows = by_key(event.data["rows"])
            case "changes":
                gone = {key_of(row) for row in event.data["gone"]}
                assert gone <= set(self.rows)
                stay = {key: row for key, row in self.rows.items() if key not in gone}
                self.rows = stay | by_key(event.data["changed"])
            case same:
                assert same == "same"
        return event

    async def until(self, rows: list[Any]) -> None:
        """Take events until these are the rows."""
        while self.rows != by_key(rows):
            await self.take()


async def rows_of(client: Client, asked: str = "") -> list[Any]:
    answer = await (await client.get(f"{ROWS}?{asked}")).json()
    rows: list[Any] = answer["data"]
    return rows

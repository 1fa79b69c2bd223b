"""A worker that has asked a statement that does not end: `python -m tests.support.apps.endless_statement`.

Its line is the id of the statement's process, which has been told everything by then.
"""

from __future__ import annotations

import asyncio

import psutil

from app.edge.sql.process import StatementAsked, statement

ENDLESS = "SELECT count(*) FROM range(1_000_000_000_000)"
ASKED = StatementAsked(ENDLESS, [], "json", memory_mb=64, most_rows=1, most_bytes=1_000, seconds=600)


async def main() -> None:
    async with statement(ASKED) as process:
        await process.tables()
        answer = asyncio.create_task(process.answer({"as_of": None}))
        await asyncio.sleep(0)
        (of_statement,) = psutil.Process().children()
        print(of_statement.pid, flush=True)
        await answer


if __name__ == "__main__":
    asyncio.run(main())

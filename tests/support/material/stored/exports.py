"""Exports of a world's live tables, and a server that gives them as workers do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from app.codecs.stored.export import ExportMetadata, ExportWriter, digest_of_columns
from app.domain.view import View
from tests.support.material.stored.tables import rows_of_table
from tests.support.material.stored.world import World


def export_of(world: World, view: View, partition: int) -> bytes:
    """What a worker would answer."""
    stored = world.tasks[partition]
    windows, groups, cells, _ = rows_of_table(view, stored.live[view.name])
    digest = digest_of_columns(view, windows, groups, cells)
    offset, count = stored.changelog_offset, len(cells)
    told = ExportMetadata(view.name, view.version, partition, stored.marker, offset, count, digest)
    writer = ExportWriter(view, told)
    return writer.rows(windows, groups, cells) + writer.end()


@contextmanager
def serving(world: World, answer: Callable[[View, int], bytes] | None = None) -> Iterator[str]:
    """The address of a server that lives, and gives the world's exports, or others."""

    def exported(asked: SplitResult) -> bytes:
        view = next(view for view in world.views if f"/{view.name}/" in asked.path)
        partition = int(parse_qs(asked.query)["partition"][0])
        return answer(view, partition) if answer else export_of(world, view, partition)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            body = b"" if asked.path == "/livez" else exported(asked)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def never_exporting() -> Iterator[tuple[str, threading.Event]]:
    """The address of a server that lives and never answers when asked for rows, and the sign that it was."""
    came, ended = threading.Event(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/livez":
                self.send_response(200)
                self.end_headers()
                return
            came.set()
            ended.wait()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", came
    finally:
        ended.set()
        server.shutdown()
        server.server_close()

"""As much of Kubernetes' API as Spark asks for: pods, which are processes of this machine, and small documents."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from aiohttp import web

from app.base.addresses import LOOPBACK
from tests.support.clusters.pods import Document, Pod
from tests.support.machine.ports import free_ports

LOOK_SECONDS = 0.2
NAMESPACE = "/api/v1/namespaces/{namespace}"


class Kubernetes:
    """`asked`: verbs and resources that were asked for, as a KafkaRole names them; `made`: all pods that there were."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.asked = folder, folder / "pods.log", set[tuple[str, str]]()
        self.pods, self.made = dict[str, Pod](), list[str]()
        self._documents = dict[tuple[str, str], Document]()
        self._watching, self._version = set[asyncio.Queue[Document]](), 0
        (self._port,) = free_ports(1)
        self._loop, self._ended = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        self.folder.mkdir(parents=True)
        self._thread.start()

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()
        for pod in self.pods.values():
            pod.kill()

    async def _serve(self) -> None:
        application = web.Application()
        resource = application.router.add_resource(f"{NAMESPACE}/{{kind}}")
        for method, handler in (("GET", self._list), ("POST", self._create), ("DELETE", self._delete_some)):
            resource.add_route(method, handler)
        one = application.router.add_resource(f"{NAMESPACE}/{{kind}}/{{name}}")
        for method, handler in (("GET", self._get), ("PATCH", self._patch), ("DELETE", self._delete)):
            one.add_route(method, handler)
        runner = web.AppRunner(application, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, LOOPBACK, self._port).start()
        looking = asyncio.create_task(self._look())
        await self._ended.wait()
        looking.cancel()
        await runner.cleanup()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for pod in list(self.pods.values()):
                if pod.look():
                    self._tell("MODIFIED", pod.document)

    async def _create(self, request: web.Request) -> web.Response:
        kind, document = self._asked("create", request), await request.json()
        document["metadata"] |= {"uid": str(uuid.uuid4()), "namespace": request.match_info["namespace"]}
        self._stamp(document)
        if kind == "pods":
            pod = self.pods[document["metadata"]["name"]] = Pod(document, self.folder, self.log)
            self.made.append(pod.name)
            self._tell("ADDED", pod.document)
        else:
            self._documents[kind, document["metadata"]["name"]] = document
        return web.json_response(document, status=201)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            return await self._watch(request)
        self._asked("list", request)
        found = list(self._chosen(request))
        return web.json_response({"kind": "List", "metadata": {"resourceVersion": str(self._version)}, "items": found})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        self._asked("watch", request)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        events = asyncio.Queue[Document]()
        self._watching.add(events)
        try:
            async for text in _while_open(socket, events):
                await socket.send_str(text)
        finally:
            self._watching.discard(events)
        return socket

    async def _get(self, request: web.Request) -> web.Response:
        kind, name = self._asked("get", request), request.match_info["name"]
        document = self.pods[name].document if name in self.pods else self._documents.get((kind, name))
        return web.json_response(document) if document else web.json_response({"kind": "Status"}, status=404)

    async def _patch(self, request: web.Request) -> web.Response:
        self._asked("patch", request)
        pod = self.pods[request.match_info["name"]]
        pod.document["metadata"].setdefault("labels", {}).update((await request.json())["metadata"]["labels"])
        return web.json_response(pod.document)

    async def _delete(self, request: web.Request) -> web.Response:
        kind, name = self._asked("delete", request), request.match_info["name"]
        self._documents.pop((kind, name), None)
        if kind == "pods" and name in self.pods:
            self._remove(self.pods[name])
        return web.json_response({"kind": "Status", "status": "Success"})

    async def _delete_some(self, request: web.Request) -> web.Response:
        self._asked("deletecollection", request)
        for document in list(self._chosen(request)):
            self._remove(self.pods[document["metadata"]["name"]])
        return web.json_response({"kind": "Status", "status": "Success"})

    def _asked(self, verb: str, request: web.Request) -> str:
        kind = request.match_info["kind"]
        self.asked.add((verb, kind))
        return kind

    def _chosen(self, request: web.Request) -> Iterator[Document]:
        """Pods that the query's selector chooses: `name=value`, `name!=value`, with commas for "and"."""
        wanted = request.query.get("labelSelector", "").split(",")
        for pod in self.pods.values() if request.match_info["kind"] == "pods" else ():
            if all(map(pod.has, filter(None, wanted))):
                yield pod.document

    def _remove(self, pod: Pod) -> None:
        pod.kill()
        pod.look()
        self._tell("DELETED", pod.document)
        del self.pods[pod.name]

    def _stamp(self, document: Document) -> None:
        self._version += 1
        document["metadata"]["resourceVersion"] = str(self._version)

    def _tell(self, what: str, document: Document) -> None:
        self._stamp(document)
        for events in self._watching:
            events.put_nowait({"type": what, "object": json.loads(json.dumps(document))})


async def _while_open(socket: web.WebSocketResponse, events: asyncio.Queue[Document]) -> AsyncIterator[str]:
    """Events as they come, until the other side has had enough."""
    closed = asyncio.ensure_future(socket.receive())
    while True:
        event = asyncio.ensure_future(events.get())
        await asyncio.wait({closed, event}, return_when=asyncio.FIRST_COMPLETED)
        if closed.done():
            event.cancel()
            return
        yield json.dumps(event.result())


@contextlib.contextmanager
def kubernetes(folder: Path) -> Iterator[Kubernetes]:
    """One that answers; its pods have ended at the end."""
    cluster = Kubernetes(folder)
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.end()

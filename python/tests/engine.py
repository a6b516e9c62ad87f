"""A minimal engine on a real socket: registers workers, routes calls between them, and records every frame."""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from svc.loop_thread import LoopThread

DEADLINE_S = 10.0


class Peer:
    """The engine's side of a worker's connection."""

    def __init__(self, engine: Engine, socket: ServerConnection) -> None:
        self.id = str(uuid.uuid4())
        self.token = str(uuid.uuid4())
        self._engine = engine
        self._socket = socket
        self.frames: list[dict[str, Any]] = []
        #: Frames of telemetry: signal, attributes of the resource, and spans, log records or metrics.
        self.telemetry: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = []
        self.texts: list[str] = []

    def send(self, frame: dict[str, Any] | str | bytes) -> None:
        text = frame if isinstance(frame, (str, bytes)) else json.dumps(frame)
        self._engine.thread.start(self._socket.send(text)).result(DEADLINE_S)

    def close(self, code: int) -> None:
        self._engine.thread.start(self._socket.close(code)).result(DEADLINE_S)

    def cut(self) -> None:
        self._engine.thread.do(self._socket.transport.abort)

    def heard(self, type: str, **members: Any) -> dict[str, Any]:
        """Waits for the first frame of this type with these members and returns it."""
        found: dict[str, Any] = self._engine.until(
            lambda: next((f for f in self.frames if f["type"] == type and members.items() <= f.items()), None),
            f"a frame {type} {members}",
        )
        return found

    def told(self, signal: str, find: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Waits for the first matching span (``OTLP``), log record (``LOGS``) or metric (``MTRC``) and returns it."""

        def look() -> dict[str, Any] | None:
            records = (record for known, _, records in self.telemetry if known == signal for record in records)
            return next((record for record in records if find(record)), None)

        return dict(self._engine.until(look, what))

    async def _tell(self, frame: dict[str, Any]) -> None:
        try:
            await self._socket.send(json.dumps(frame))
        except ConnectionClosed:
            return


class Engine:
    def __init__(self) -> None:
        self.thread = LoopThread("test-engine")
        self._changed = threading.Condition()
        self.peers: list[Peer] = []
        self.requests: list[Request] = []
        self.refuse_with: int | None = None
        #: Further members of ``workerregistered``. With ``engine`` this is an engine of svc.
        self.greeting: dict[str, Any] = {}
        #: Disabled by tests that send the results themselves.
        self.routes = True
        #: Frames that are sent to a worker before the pong.
        self.before_pong: list[dict[str, Any]] = []
        #: Handles the sockets of channels.
        self.on_channel: Callable[[ServerConnection], Awaitable[None]] | None = None
        self._functions: dict[str, Peer] = {}
        self._turn = itertools.count()
        self._callers: dict[str, Peer] = {}
        self._server = self.thread.start(self._serve(0)).result(DEADLINE_S)
        self.port: int = next(iter(self._server.sockets)).getsockname()[1]

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def _serve(self, port: int) -> Any:
        return await serve(
            self._talk, "127.0.0.1", port, process_request=self._admit, max_size=32 * 1024 * 1024, compression=None
        )

    def _admit(self, socket: ServerConnection, request: Request) -> Response | None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return None if self.refuse_with is None else socket.respond(self.refuse_with, "refused\n")

    async def _talk(self, socket: ServerConnection) -> None:
        if self.on_channel is not None and socket.request is not None and "/ws/channels/" in socket.request.path:
            await self.on_channel(socket)
            return
        peer = Peer(self, socket)
        with self._changed:
            self.peers.append(peer)
            self._changed.notify_all()
        greeting = {"type": "workerregistered", "worker_id": peer.id, "reattach_token": peer.token}
        await peer._tell({**greeting, **self.greeting})
        try:
            async for text in socket:
                if isinstance(text, bytes):
                    with self._changed:
                        peer.telemetry.append(_telemetry_of(text))
                        self._changed.notify_all()
                    continue
                frame = json.loads(text)
                with self._changed:
                    peer.texts.append(text)
                    peer.frames.append(frame)
                    self._changed.notify_all()
                await self._route(peer, frame)
        except ConnectionClosed:
            pass
        finally:
            self._functions = {id: owner for id, owner in self._functions.items() if owner is not peer}

    async def _route(self, peer: Peer, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "registerfunction":
                self._functions[frame["id"]] = peer
            case "unregisterfunction":
                self._functions.pop(frame["id"], None)
            case "ping":
                for late in self.before_pong:
                    await peer._tell(late)
                await peer._tell({"type": "pong"})
            case "registertrigger" if self.routes:
                names = ("id", "trigger_type", "function_id")
                answer = {"type": "triggerregistrationresult", "status": "active"}
                await peer._tell({**answer, **{name: frame[name] for name in names}})
            case "invokefunction" if self.routes and frame["function_id"] != "engine::workers::register":
                await self._route_call(peer, frame)
            case "invocationresult" if self.routes:
                caller = self._callers.pop(frame["invocation_id"], None)
                if caller is not None:
                    await caller._tell(frame)

    async def _route_call(self, peer: Peer, frame: dict[str, Any]) -> None:
        invocation_id = frame.get("invocation_id")
        owner = self._functions.get(frame["function_id"])
        if owner is None:
            error = {"code": "function_not_found", "message": f"Function {frame['function_id']} not found"}
            answer = {"type": "invocationresult", "function_id": frame["function_id"], "error": error}
            if invocation_id is not None:
                await peer._tell({**answer, "invocation_id": invocation_id})
            return
        if invocation_id is None:
            invocation_id = str(uuid.uuid4())
        else:
            self._callers[invocation_id] = peer
        behind = {name: frame.get(name) for name in ("traceparent", "baggage", "metadata", "timeout_ms")}
        envelope = {"type": "invokefunction", "invocation_id": invocation_id, "function_id": frame["function_id"]}
        caller = {"worker_id": peer.id, "name": "probe"}
        await owner._tell({"data": frame["data"], **envelope, **behind, "action": None, "caller": caller, "job": None})

    def until(self, condition: Callable[[], Any], what: str) -> Any:
        deadline = time.monotonic() + DEADLINE_S
        with self._changed:
            while True:
                found = condition()
                if found:
                    return found
                left = deadline - time.monotonic()
                assert left > 0, f"waited {DEADLINE_S} s for {what}; heard {[peer.frames for peer in self.peers]}"
                self._changed.wait(left)

    def peer(self, number: int = 0) -> Peer:
        """Waits for the n-th connection since the start and returns it."""
        self.until(lambda: len(self.peers) > number, f"connection {number}")
        return self.peers[number]

    def call(self, function_id: str, data: Any = None, **members: Any) -> str:
        """Calls a function of the first worker that provides it. That worker's frames contain the result."""
        self.until(lambda: function_id in self._functions, f"function {function_id}")
        invocation_id = str(uuid.uuid4())
        frame = {"data": data, "type": "invokefunction", "invocation_id": invocation_id, "function_id": function_id}
        self._functions[function_id].send({**frame, **members})
        return invocation_id

    def answer_to(self, invocation_id: str) -> dict[str, Any]:
        def find() -> dict[str, Any] | None:
            frames = (frame for peer in self.peers for frame in peer.frames)
            wanted = {"type": "invocationresult", "invocation_id": invocation_id}
            return next((frame for frame in frames if wanted.items() <= frame.items()), None)

        return dict(self.until(find, f"the answer to {invocation_id}"))

    def stop(self) -> None:
        async def stop() -> None:
            self._server.close()
            for peer in self.peers:
                peer._socket.transport.abort()
            await self._server.wait_closed()

        self.thread.start(stop()).result(DEADLINE_S)
        self.thread.stop(DEADLINE_S)

    def go_away(self) -> None:
        """Stops listening and aborts every connection. ``come_back`` listens on the same port again."""

        async def go() -> None:
            self._server.close()
            for peer in self.peers:
                peer._socket.transport.abort()
            await self._server.wait_closed()

        self.thread.start(go()).result(DEADLINE_S)

    def come_back(self) -> None:
        self._server = self.thread.start(self._serve(self.port)).result(DEADLINE_S)


def _telemetry_of(frame: bytes) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    ((_, (group,)),) = json.loads(frame[4:]).items()
    resource = group.pop("resource")
    ((_, (scope,)),) = group.items()
    scope.pop("scope")
    ((_, records),) = scope.items()
    return frame[:4].decode(), plain(resource["attributes"]), records


def plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns attributes of OTLP/JSON as a dict of plain values."""
    return {one["key"]: next(iter(one["value"].values()), None) for one in attributes}

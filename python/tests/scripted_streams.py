"""A WebSocket server in place of the engine's real-time listener. The test reads messages and sends the engine's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from svc.loop_thread import LoopThread

DEADLINE_S = 10.0
Found = TypeVar("Found")


class ScriptedConnection:
    """The engine's side of one connection."""

    def __init__(self, streams: ScriptedStreams, socket: ServerConnection) -> None:
        self._streams = streams
        self._socket = socket
        self.received: list[dict[str, Any]] = []

    @property
    def request(self) -> Any:
        return self._socket.request

    def message(self, type: str, number: int = 1) -> dict[str, Any]:
        """Waits for the n-th message of a type."""

        def find() -> dict[str, Any] | None:
            found = [message for message in self.received if message["type"] == type]
            return found[number - 1] if len(found) >= number else None

        return self._streams.until(find, f"message {number} of the type {type}")

    def send(self, message: dict[str, Any] | str) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self._streams.thread.start(self._socket.send(text)).result(DEADLINE_S)

    def welcome(self, epoch: str = "first") -> None:
        self.message("hello")
        self.send({"type": "welcome", "data": {"connectionId": "c", "epoch": epoch, "heartbeatMs": 10_000}})

    def admit(self, join: dict[str, Any], seq: int, data: object, **more: object) -> None:
        """Accepts a join, and sends the sync."""
        address = {name: join["data"].get(name) for name in ("subscriptionId", "streamName", "groupId", "id")}
        self.send({"type": "joined", "data": {**address, "seq": seq, "resumed": False}})
        self.event([address["subscriptionId"]], seq, {"type": "sync", "data": data}, **more)

    def event(self, names: list[str], seq: int, event: dict[str, Any], **more: object) -> None:
        place = {"timestamp": 1_000 + seq, "streamName": "todos", "groupId": "g", "id": None}
        self.send({"type": "stream", **place, "event": event, "seq": seq, "subscriptionIds": names, **more})

    def cut(self) -> None:
        self._streams.thread.do(self._socket.transport.abort)

    def close(self, code: int, reason: str) -> None:
        self._streams.thread.start(self._socket.close(code, reason)).result(DEADLINE_S)


class ScriptedStreams:
    def __init__(self) -> None:
        self.thread = LoopThread("test-streams")
        self._changed = threading.Condition()
        self.connections: list[ScriptedConnection] = []
        self._server = self.thread.start(self._start()).result(DEADLINE_S)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def connection(self, number: int = 1) -> ScriptedConnection:
        """Waits for the n-th connection since the start."""
        self.until(lambda: len(self.connections) >= number, f"connection {number}")
        return self.connections[number - 1]

    def until(self, find: Callable[[], Found | None], what: str) -> Found:
        deadline = time.monotonic() + DEADLINE_S
        with self._changed:
            while True:
                found = find()
                if found:
                    return found
                left = deadline - time.monotonic()
                assert left > 0, f"not within {DEADLINE_S:g} s: {what}"
                self._changed.wait(left)

    def stop(self) -> None:
        async def close() -> None:
            self._server.close()

        self.thread.start(close()).result(DEADLINE_S)
        self.thread.stop(DEADLINE_S)

    async def _start(self) -> Any:
        return await serve(self._converse, "127.0.0.1", 0)

    async def _converse(self, socket: ServerConnection) -> None:
        connection = ScriptedConnection(self, socket)
        self._note(lambda: self.connections.append(connection))
        try:
            async for text in socket:
                message = json.loads(text)
                self._note(lambda message=message: connection.received.append(message))  # type: ignore[misc]
        except ConnectionClosed:
            return

    def _note(self, change: Callable[[], object]) -> None:
        with self._changed:
            change()
            self._changed.notify_all()

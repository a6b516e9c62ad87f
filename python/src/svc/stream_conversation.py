"""The client's side of a stream connection: messages and subscriptions. Belongs to the client's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from .backoff import Backoff, ReconnectOptions
from .codec import encode_json
from .connection import Connection, ConnectionState
from .connection_watch import not_connected
from .errors import CallError
from .logger import Logger
from .stream_messages import Delivery, Inbound, Joined, Missed, Positions, Refusal, Welcome, read_inbound
from .stream_subscription import StreamSubscription

#: Close code after which no attempt is useful: this client is not allowed to connect. (4401 means that the engine
#: cannot check the client at present, so it retries.)
_MAY_NOT_CONNECT = 4403


class StreamConversation:
    """Joins the subscriptions, now and after every reconnect, where they stopped."""

    def __init__(
        self,
        address: str,
        *,
        headers: Mapping[str, str],
        reconnect: ReconnectOptions,
        log: Logger,
        state_changed: Callable[[ConnectionState], None],
    ) -> None:
        self.log = log
        self.epoch: str | None = None
        self.connection = Connection(
            (address,),
            self,
            backoff=Backoff(reconnect),
            log=log,
            headers=headers,
            is_final=lambda code: code == _MAY_NOT_CONNECT,
        )
        self._address = address
        self._state_changed = state_changed
        self._frames: list[str | bytes] = []
        self._by_name: dict[str, StreamSubscription] = {}
        self._last_name = 0
        self._is_closed = False
        self._running = asyncio.ensure_future(self.connection.run())

    def add(self, subscription: StreamSubscription) -> None:
        if self._is_closed:
            raise CallError("draining", "the client was closed; nothing can be joined any more")
        self._last_name += 1
        name = f"s{self._last_name}"
        subscription._enter(name, self)
        self._by_name[name] = subscription
        if self.connection.state == "failed":
            subscription._fail(self._gave_up())
        elif self.epoch is not None:
            subscription._join()

    async def close(self) -> None:
        """Leaves all subscriptions and closes the connection."""
        self._is_closed = True
        for subscription in [*self._by_name.values()]:
            subscription._leave()
        await self.connection.stop()
        await asyncio.wait([self._running])

    # ---- for subscriptions

    def send(self, type: str, data: dict[str, Any]) -> None:
        self._frames.append(encode_json({"type": type, "data": data}, f"the {type} message"))
        self.connection.write_soon()

    def drop(self, name: str) -> None:
        self._by_name.pop(name, None)

    # ---- for the connection

    def opened(self) -> None:
        self.send("hello", {"version": 1})

    def received(self, frame: str | bytes) -> None:
        message = read_inbound(frame)
        if message is None:
            self.log.warn("the engine sent an invalid stream message", bytes=len(frame))
        elif message != "unknown":
            self._act(message)

    def lost(self) -> None:
        self.epoch = None
        self._frames.clear()
        for subscription in [*self._by_name.values()]:
            subscription._lost()

    def take_frames(self) -> list[str | bytes]:
        frames, self._frames = self._frames, []
        return frames

    def state_changed(self, state: ConnectionState) -> None:
        if state == "failed":
            for subscription in [*self._by_name.values()]:
                subscription._fail(self._gave_up())
        self._state_changed(state)

    def _act(self, message: Inbound) -> None:
        match message:
            case Welcome(epoch):
                self.epoch = epoch
                self.connection.confirmed()
                for subscription in [*self._by_name.values()]:
                    subscription._join()
            case Delivery(names, content):
                for name in names:
                    if name in self._by_name:
                        self._by_name[name]._received(content)
            case Positions(seqs):
                for name, seq in seqs.items():
                    if name in self._by_name:
                        self._by_name[name]._advance_to(seq)
            case Joined(name, resumed):
                if name in self._by_name:
                    self._by_name[name]._joined(resumed)
            case Missed(name, gap):
                if name in self._by_name:
                    self._by_name[name]._missed(gap)
            case Refusal(None, code, reason):
                self.log.error("the engine rejected a message of the stream client", code=code, reason=reason)
                # Without the welcome no message would ever arrive. After a reconnect, another engine may accept it.
                if self.epoch is None:
                    self.connection.drop(f"the engine rejected the hello: {reason}")
            case Refusal(name, code, reason):
                if name in self._by_name:
                    self._by_name[name]._refused(CallError(code, reason))

    def _gave_up(self) -> CallError:
        return not_connected("client", "failed", self._address, self.connection.last_problem)

"""One subscription of a stream client. It survives reconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from .backoff import Backoff, ReconnectOptions
from .errors import CallError
from .logger import Logger
from .loop_thread import LoopThread
from .stream_messages import StreamGap, StreamSync, StreamUpdate, SubscriptionStatus

#: Timeout of a join. The engine answers within half of it, however slow the functions are that it calls for the join.
_JOIN_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class StreamHandlers:
    """Called in the order of the events, on the client's event loop. Their exceptions are logged."""

    on_sync: Callable[[StreamSync], object] | None = None
    on_event: Callable[[StreamUpdate], object] | None = None
    on_gap: Callable[[StreamGap], object] | None = None
    on_error: Callable[[CallError], object] | None = None
    on_status: Callable[[SubscriptionStatus], object] | None = None


class Host(Protocol):
    """What a subscription needs from its client, on the client's loop."""

    @property
    def epoch(self) -> str | None:
        """Id of the engine's present run. None while not connected."""

    @property
    def log(self) -> Logger: ...

    def send(self, type: str, data: dict[str, Any]) -> None: ...

    def drop(self, name: str) -> None:
        """Removes the ended subscription."""


class StreamSubscription:
    """A subscription to a group of a stream, or to one item. Created by ``subscribe``.

    Attributes:
        stream_name: Name of the stream.
        group_id: Id of the group.
        item_id: None for the whole group.
    """

    def __init__(
        self,
        stream_name: str,
        group_id: str,
        item_id: str | None,
        *,
        handlers: StreamHandlers,
        loop: LoopThread,
    ) -> None:
        self.stream_name = stream_name
        self.group_id = group_id
        self.item_id = item_id
        self._handlers = handlers
        self._loop = loop
        self._name = ""
        self._host: Host | None = None
        self._status: SubscriptionStatus = "joining"
        #: Run of the engine and number of the last delivered event.
        self._position: tuple[str, int] | None = None
        #: Whether events are ignored until the sync, which contains them.
        self._awaits_sync = True
        self._backoff = Backoff(ReconnectOptions())
        self._retry: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def status(self) -> SubscriptionStatus:
        return self._status

    @property
    def seq(self) -> int | None:
        """Number of the last delivered event or sync. None before the first."""
        return None if self._position is None else self._position[1]

    def leave(self) -> None:
        """Ends the subscription. After that, handlers receive only the status ``closed``."""
        if self._loop.is_running():
            self._loop.do(self._leave)

    # ---- on the client's loop

    def _enter(self, name: str, host: Host) -> None:
        self._name = name
        self._host = host

    def _leave(self) -> None:
        if self._status == "closed":
            return
        if self._host is not None and self._host.epoch is not None:
            self._host.send("leave", self._address())
        self._close()

    def _join(self) -> None:
        """Sends the join. Called when the client is connected."""
        host = self._joined_host()
        self._cancel_timers()
        self._awaits_sync = True
        late = CallError(
            "call_timeout",
            f"the engine did not answer the join of stream {self.stream_name} within {_JOIN_DEADLINE_S:g} s",
        )
        self._deadline = asyncio.get_running_loop().call_later(_JOIN_DEADLINE_S, self._refused, late)
        since = {} if self._position is None else {"since": {"epoch": self._position[0], "seq": self._position[1]}}
        host.send("join", {**self._address(), **since})

    def _lost(self) -> None:
        """The connection was lost."""
        self._cancel_timers()
        self._set_status("joining")

    def _fail(self, error: CallError) -> None:
        """Ends the subscription with an error."""
        self._notify("on_error", self._handlers.on_error, error)
        self._close()

    def _joined(self, resumed: bool) -> None:
        self._cancel_timers()
        self._backoff.reset()
        if resumed:
            self._awaits_sync = False
            self._set_status("live")

    def _missed(self, gap: StreamGap) -> None:
        self._awaits_sync = True
        self._set_status("joining")
        self._notify("on_gap", self._handlers.on_gap, gap)

    def _advance_to(self, seq: int) -> None:
        """Advances the position without an event: other items of the group have changed."""
        if self._awaits_sync or self._position is None or seq <= self._position[1]:
            return
        self._position = (self._position[0], seq)

    def _refused(self, error: CallError) -> None:
        """The join was rejected or revoked."""
        if self._status == "closed" or self._retry is not None:
            return
        # A retry of a malformed join would fail again.
        if error.code.startswith("invalid_"):
            self._fail(error)
            return
        self._cancel_timers()
        self._retry = asyncio.get_running_loop().call_later(self._backoff.next_delay_s() or 0, self._join_again)
        self._set_status("refused")
        self._notify("on_error", self._handlers.on_error, error)

    def _join_again(self) -> None:
        if self._joined_host().epoch is None:
            return
        self._set_status("joining")
        self._join()

    def _received(self, content: StreamUpdate | StreamSync | Literal["unauthorized"]) -> None:
        epoch = self._joined_host().epoch
        if self._status == "closed" or epoch is None:
            return
        if isinstance(content, StreamSync):
            self._awaits_sync = False
            self._position = (epoch, content.seq)
            self._notify("on_sync", self._handlers.on_sync, content)
            self._set_status("live")
        elif content == "unauthorized":
            message = f"joining group {self.group_id} of stream {self.stream_name} is not allowed"
            self._refused(CallError("FORBIDDEN", message))
        elif isinstance(content, StreamUpdate):
            is_known = self._position is not None and self._position[0] == epoch and content.seq <= self._position[1]
            if self._awaits_sync or is_known:
                return
            self._position = (epoch, content.seq)
            self._notify("on_event", self._handlers.on_event, content)

    def _joined_host(self) -> Host:
        assert self._host is not None
        return self._host

    def _address(self) -> dict[str, Any]:
        item = {} if self.item_id is None else {"id": self.item_id}
        return {"subscriptionId": self._name, "streamName": self.stream_name, "groupId": self.group_id, **item}

    def _close(self) -> None:
        self._cancel_timers()
        if self._host is not None:
            self._host.drop(self._name)
        self._set_status("closed")

    def _cancel_timers(self) -> None:
        for timer in (self._retry, self._deadline):
            if timer is not None:
                timer.cancel()
        self._retry = self._deadline = None

    def _set_status(self, status: SubscriptionStatus) -> None:
        if self._status in (status, "closed"):
            return
        self._status = status
        self._notify("on_status", self._handlers.on_status, status)

    def _notify(self, name: str, handler: Callable[[Any], object] | None, value: object) -> None:
        if handler is None:
            return
        try:
            handler(value)
        except Exception as raised:  # noqa: BLE001 - user code must not break the socket's loop
            facts = {"stream": self.stream_name, "group": self.group_id, "handler": name}
            self._joined_host().log.error("a handler of a stream subscription failed", **facts, error=raised)

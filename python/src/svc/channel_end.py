"""One end of a channel, over its own WebSocket. Belongs to the worker's event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .channel_refs import ChannelRef
from .context import HandlerContext
from .errors import CallError
from .lost_connection import abort, send

#: Maximum size of an item. The protocol permits 16 MiB; the margin avoids disconnecting at the limit.
_MAX_INBOUND_BYTES = 17 * 1024 * 1024
#: Maximum number of items that wait for `receive`. The socket is not read while more wait.
_MAX_WAITING_ITEMS = 4
#: `send` waits while more unsent bytes than this are buffered.
_MAX_SENDING_BYTES = 256 * 1024
_HANDSHAKE_TIMEOUT_S = 10.0
#: A writer fails if the engine receives nothing for this long.
_STALL_LIMIT_S = 300.0
#: Close codes of a complete channel: normal closure, and no code.
_COMPLETE = (1000, 1005)
#: TCP probes an idle connection after 20 s and drops it after 60 s. WebSocket pings would not work: they wait for the
#: data before them while the other side applies backpressure.
_KEEPALIVE = (("TCP_KEEPIDLE", 20), ("TCP_KEEPALIVE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4))


class Holder(Protocol):
    """Tracks the ends that have sockets."""

    def opening(self, end: ChannelEnd) -> None:
        """Called before a socket is opened. Raises CallError if that is no longer permitted."""

    def over(self, end: ChannelEnd) -> None: ...


class ChannelEnd:
    """Connects at its first use and never again: an end can be used once.

    Args:
        url: Address of this end, with its key.
        ref: Names the end in errors, without the key.
        owner: The call that it came with; None for ends that belong to the worker.
    """

    __slots__ = ("_holder", "_is_finished", "_opening", "_problem", "_ref", "_socket", "_url", "lock", "owner")

    def __init__(self, url: str, ref: ChannelRef, *, owner: HandlerContext | None, holder: Holder) -> None:
        self.owner = owner
        #: Serializes reads or writes of different tasks.
        self.lock = asyncio.Lock()
        self._url = url
        self._ref = ref
        self._holder = holder
        self._socket: ClientConnection | None = None
        self._opening: asyncio.Future[None] | None = None
        #: Code and reason of the failure.
        self._problem: tuple[str, str] | None = None
        self._is_finished = False

    @property
    def is_over(self) -> bool:
        return self._is_finished or self._problem is not None

    async def receive(self) -> str | bytes | None:
        """Returns the next item, or None at the end. CallError ``channel_closed`` if the writer disconnected early."""
        if self._is_finished:
            return None
        opened = await self._connected()
        try:
            return await opened.recv()
        except ConnectionClosed as closed:
            self._close_seen(closed)
            return None

    async def send(self, item: str | bytes | memoryview) -> None:
        """Returns when there is room for the next item. CallError ``channel_closed`` if the reader disconnected."""
        opened = await self._connected()
        try:
            with self._stall_limit():
                await send(opened, item)
        except ConnectionClosed as closed:
            raise self._broken(closed) from None

    async def finish(self) -> None:
        """Ends the channel. Returns when the engine has received everything."""
        if self._is_finished:
            return
        opened = await self._connected()
        with self._stall_limit():
            await opened.close()
        if opened.close_code in _COMPLETE:
            self._finished()
            return
        raise self._fail("channel_closed", "the other end disconnected before it had received everything")

    def drop(self, code: str, reason: str) -> None:
        """Closes the socket. Pending and later operations fail with ``code``."""
        if not self.is_over:
            self._fail(code, reason)

    @property
    def writes(self) -> bool:
        return self._ref["direction"] == "write"

    @property
    def was_used(self) -> bool:
        return self._opening is not None or self.is_over

    async def take_and_drop(self, reason: str) -> None:
        """Connects an unused end and drops it, so that the other end is notified. Never raises."""
        try:
            await self._connected()
        except CallError:
            return
        self.drop("channel_closed", reason)

    async def _connected(self) -> ClientConnection:
        if not self.is_over and self._socket is None:
            if self._opening is None:
                self._holder.opening(self)
                self._opening = asyncio.ensure_future(self._open())
            try:
                # Cancelling one waiting task must not cancel the connection for the others.
                await asyncio.shield(self._opening)
            except asyncio.CancelledError:
                if self._problem is None:
                    raise
        if self._problem is not None:
            raise self._error(*self._problem)
        if self._socket is None or self._is_finished:
            raise self._error("channel_closed", "it has already ended")
        return self._socket

    async def _open(self) -> None:
        try:
            opened = await connect(
                self._url,
                compression=None,
                max_size=_MAX_INBOUND_BYTES,
                max_queue=_MAX_WAITING_ITEMS,
                write_limit=_MAX_SENDING_BYTES,
                open_timeout=_HANDSHAKE_TIMEOUT_S,
                ping_interval=None,
                # The engine completes a writer's close when its reader has room for all items before it.
                close_timeout=None,
                proxy=None,
            )
        except Exception as cause:  # noqa: BLE001 - every error is reported to the waiting tasks
            self._fail("channel_closed", _why_not_open(cause))
            return
        if self._problem is not None:
            abort(opened.transport)
            return
        self._socket = opened
        _watch(opened)

    def _close_seen(self, closed: ConnectionClosed) -> None:
        if closed.rcvd is None or closed.rcvd.code not in _COMPLETE:
            raise self._broken(closed) from None
        self._finished()

    def _broken(self, closed: ConnectionClosed) -> CallError:
        reason = "" if closed.rcvd is None else f": {closed.rcvd.reason}"
        return self._fail("channel_closed", f"the other end disconnected before the end{reason}")

    def _finished(self) -> None:
        self._is_finished = True
        self._holder.over(self)

    def _fail(self, code: str, reason: str) -> CallError:
        """Marks this end as failed, keeping the first failure. Returns the error to raise."""
        if self._problem is None:
            self._problem = (code, reason)
            if self._opening is not None and self._opening is not asyncio.current_task():
                self._opening.cancel()
            if self._socket is not None:
                abort(self._socket.transport)
            self._holder.over(self)
        return self._error(*self._problem)

    def _error(self, code: str, reason: str) -> CallError:
        channel_id, direction = self._ref["channel_id"], self._ref["direction"]
        what = f"the {'reader' if direction == 'read' else 'writer'} of channel {channel_id:.64}"
        return CallError(
            code, f"{what}: {reason}", {"channel_id": channel_id, "direction": direction, "reason": reason}
        )

    @contextmanager
    def _stall_limit(self) -> Iterator[None]:
        reason = f"nothing was received for {_STALL_LIMIT_S:g} s"
        timer = asyncio.get_running_loop().call_later(_STALL_LIMIT_S, self.drop, "channel_closed", reason)
        try:
            yield
        finally:
            timer.cancel()


def _why_not_open(cause: Exception) -> str:
    if isinstance(cause, InvalidStatus) and cause.response.status_code == 404:
        return "not found: the channel has ended, or the key is wrong"
    if isinstance(cause, InvalidStatus):
        return f"the engine refused the connection with HTTP {cause.response.status_code}"
    if isinstance(cause, asyncio.TimeoutError):
        return f"the handshake took longer than {_HANDSHAKE_TIMEOUT_S:g} s"
    return f"no connection to the engine: {type(cause).__name__}: {cause}"


def _watch(opened: ClientConnection) -> None:
    tcp = opened.transport.get_extra_info("socket")
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            option = getattr(socket, name, None)
            if option is not None:
                tcp.setsockopt(socket.IPPROTO_TCP, option, value)
    except OSError:  # the socket was closed, or the system does not support the option
        return

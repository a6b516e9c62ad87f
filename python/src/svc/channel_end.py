"""One end of a channel over a WebSocket of its own. Belongs to the worker's event loop."""

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

#: Items of a writer may have 16 MiB; a little more is taken.
_MAX_INBOUND_BYTES = 17 * 1024 * 1024
#: Items that wait for `receive`; with one more the socket is not read any further.
_MAX_WAITING_ITEMS = 4
#: With more bytes than this on their way out, `send` waits.
_MAX_SENDING_BYTES = 256 * 1024
_HANDSHAKE_TIMEOUT_S = 10.0
#: A writer of whose items nothing is taken for so long gives up.
_STALL_LIMIT_S = 300.0
#: Close codes behind which nothing is missing: with a normal code, and with none.
_WHOLE = (1000, 1005)
#: A connection whose other side says nothing is probed after 20 s and counts as gone after 60. By the system and not by
#: WebSocket pings: those wait behind the data while the other side holds back.
_KEEPALIVE = (("TCP_KEEPIDLE", 20), ("TCP_KEEPALIVE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 4))


class Holder(Protocol):
    """Knows the ends that have sockets."""

    def opening(self, end: ChannelEnd) -> None:
        """A socket is wanted. Raises CallError when it may not be had any more."""

    def over(self, end: ChannelEnd) -> None: ...


class ChannelEnd:
    """Connects at its first use and never a second time: an end can be taken once.

    Args:
        url: Where this end is, with its key.
        ref: Names the end in errors, all but the key.
        owner: The call that it came with; None for ends that belong to the worker as a whole.
    """

    __slots__ = ("_holder", "_is_finished", "_opening", "_problem", "_ref", "_socket", "_url", "lock", "owner")

    def __init__(self, url: str, ref: ChannelRef, *, owner: HandlerContext | None, holder: Holder) -> None:
        self.owner = owner
        #: Held over what must not mix with the same of another task.
        self.lock = asyncio.Lock()
        self._url = url
        self._ref = ref
        self._holder = holder
        self._socket: ClientConnection | None = None
        self._opening: asyncio.Future[None] | None = None
        #: Code and reason of the end before the end.
        self._problem: tuple[str, str] | None = None
        self._is_finished = False

    @property
    def is_over(self) -> bool:
        return self._is_finished or self._problem is not None

    async def receive(self) -> str | bytes | None:
        """The next item; None behind the last. CallError ``channel_closed`` when the writer broke off."""
        if self._is_finished:
            return None
        opened = await self._connected()
        try:
            return await opened.recv()
        except ConnectionClosed as closed:
            self._close_seen(closed)
            return None

    async def send(self, item: str | bytes | memoryview) -> None:
        """Returns when there is room for the next item. CallError ``channel_closed`` when the reader is gone."""
        opened = await self._connected()
        try:
            with self._stall_limit():
                await send(opened, item)
        except ConnectionClosed as closed:
            raise self._broken(closed) from None

    async def finish(self) -> None:
        """Says that nothing more comes, and returns when the engine has taken everything."""
        if self._is_finished:
            return
        opened = await self._connected()
        with self._stall_limit():
            await opened.close()
        if opened.close_code in _WHOLE:
            self._finished()
            return
        raise self._fail("channel_closed", "the other end went away before it had everything")

    def drop(self, code: str, reason: str) -> None:
        """Cuts the socket; whoever waits fails with ``code``, and so does every later use."""
        if not self.is_over:
            self._fail(code, reason)

    @property
    def writes(self) -> bool:
        return self._ref["direction"] == "write"

    @property
    def was_used(self) -> bool:
        return self._opening is not None or self.is_over

    async def take_and_drop(self, reason: str) -> None:
        """For an end that was never used: takes it and drops it, so that the other one hears of it. Never raises."""
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
                # Who gives up waiting does not stop the others.
                await asyncio.shield(self._opening)
            except asyncio.CancelledError:
                if self._problem is None:
                    raise
        if self._problem is not None:
            raise self._error(*self._problem)
        if self._socket is None or self._is_finished:
            raise self._error("channel_closed", "it was ended before")
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
                # The engine takes a writer's close when its reader has room for all that comes before it.
                close_timeout=None,
                proxy=None,
            )
        except Exception as cause:  # noqa: BLE001 - whatever went wrong, whoever waits is told
            self._fail("channel_closed", _why_not_open(cause))
            return
        if self._problem is not None:
            abort(opened.transport)
            return
        self._socket = opened
        _watch(opened)

    def _close_seen(self, closed: ConnectionClosed) -> None:
        if closed.rcvd is None or closed.rcvd.code not in _WHOLE:
            raise self._broken(closed) from None
        self._finished()

    def _broken(self, closed: ConnectionClosed) -> CallError:
        said = "" if closed.rcvd is None else f": {closed.rcvd.reason}"
        return self._fail("channel_closed", f"the other end went away before the end{said}")

    def _finished(self) -> None:
        self._is_finished = True
        self._holder.over(self)

    def _fail(self, code: str, reason: str) -> CallError:
        """Ends this end for good; what failed first stays. Returns the error to raise."""
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
        reason = f"nothing was taken for {_STALL_LIMIT_S:g} s"
        timer = asyncio.get_running_loop().call_later(_STALL_LIMIT_S, self.drop, "channel_closed", reason)
        try:
            yield
        finally:
            timer.cancel()


def _why_not_open(cause: Exception) -> str:
    if isinstance(cause, InvalidStatus) and cause.response.status_code == 404:
        return "it is not there: the channel is over, or the key is not its key"
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
    except OSError:  # closed meanwhile, or not known to this system
        return

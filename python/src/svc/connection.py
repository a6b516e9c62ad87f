"""Keeps one socket to the engine open. Does not interpret the frames."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from .address import without_credentials
from .backoff import Backoff
from .logger import Logger
from .lost_connection import abort, send

ConnectionState: TypeAlias = Literal["disconnected", "connecting", "connected", "reconnecting", "failed", "closed"]
"""
- ``disconnected``: not started.
- ``connecting``: the first attempt is in progress.
- ``connected``: the engine has registered this worker.
- ``reconnecting``: the connection was lost or an attempt failed; the next attempt is pending or in progress.
- ``failed``: the attempts are exhausted.
- ``closed``: the worker was shut down.
"""

# The protocol's limit is 16 MiB. The margin avoids disconnecting at the limit, which would lose more than one frame.
_MAX_INBOUND_BYTES = 17 * 1024 * 1024
_HANDSHAKE_TIMEOUT_S = 10.0
_PING_EVERY_S = 8.0
# Together with the ping interval, an engine that does not respond for 23 s is considered disconnected.
_PONG_TIMEOUT_S = 15.0
_CLOSE_TIMEOUT_S = 1.0
# A connection that lasts this long is stable: the backoff is reset, even if the engine never registers the worker.
_STABLE_AFTER_S = 5.0
# The kernel buffers the frames of one iteration of the loop and sends them together. Linux only.
_TCP_CORK: int | None = getattr(socket, "TCP_CORK", None)


class Conversation(Protocol):
    """Handles the connection's events. Its methods must not raise or block."""

    def opened(self) -> None: ...

    def received(self, frame: str | bytes) -> None: ...

    def lost(self) -> None: ...

    def take_frames(self) -> list[str | bytes]: ...

    def state_changed(self, state: ConnectionState) -> None: ...


class Connection:
    """Connects, writes the conversation's frames, and reconnects after every close, clean or not."""

    def __init__(
        self,
        addresses: Sequence[str],
        conversation: Conversation,
        *,
        backoff: Backoff,
        log: Logger,
        headers: Mapping[str, str] | None = None,
        is_final: Callable[[int | None], bool] = lambda _: False,
    ) -> None:
        """Connects to the first address. After a loss, the next one is tried at once.

        ``is_final``: returns whether no further attempt is useful after this close code.
        """
        self._addresses = tuple(addresses)
        # Index of the address that is used or tried.
        self._at = 0
        # Attempts at other addresses since the last wait, or since the connection was stable.
        self._soon_attempts = 0
        self._conversation = conversation
        self._backoff = backoff
        self._log = log
        self._headers = headers or {}
        self._is_final = is_final
        self._close_code: int | None = None
        self._state: ConnectionState = "disconnected"
        self._last_problem = ""
        self._drop_reason: str | None = None
        self._to_write = asyncio.Event()
        self._written = asyncio.Event()
        self._written.set()
        self._socket: ClientConnection | None = None
        self._ending = False
        self._stopping = asyncio.Event()

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def address(self) -> str:
        """The address that is used or tried."""
        return self._addresses[self._at]

    @property
    def last_problem(self) -> str:
        """Why the last attempt or connection ended, or "" if it did not."""
        return self._last_problem

    def write_soon(self) -> None:
        """Schedules writing the conversation's frames. Those of one iteration of the loop are sent together."""
        self._to_write.set()
        self._written.clear()

    async def flushed(self) -> None:
        """Returns when all frames were passed to the system, or the socket is closed."""
        while self._socket is not None and not self._written.is_set():
            await self._written.wait()

    def confirmed(self) -> None:
        """Called when the engine has registered this worker: the connection works."""
        self._backoff.reset()
        self._enter("connected")

    def drop(self, reason: str) -> None:
        """Aborts the socket. The connection then reconnects."""
        if self._socket is not None:
            self._drop_reason = reason
            abort(self._socket.transport)

    @property
    def knows_others(self) -> bool:
        """Whether there is another engine to go to."""
        return len(self._addresses) > 1

    async def leave(self, reason: str) -> None:
        """Closes the socket when all frames are written. The connection then goes on at the next address."""
        await self.flushed()
        if self._socket is not None:
            self._drop_reason = reason
            await self._socket.close()

    async def run(self) -> None:
        """Runs until ``stop``, or until the attempts are exhausted."""
        attempt: ConnectionState = "connecting"
        while not self._is_ending():
            self._enter(attempt)
            attempt = "reconnecting"
            await self._until_stopped(self._connect_once())
            if self._is_ending():
                break
            delay_s = None if self._is_final(self._close_code) else self._next_delay_s()
            fields = {"address": without_credentials(self.address), "reason": self._last_problem}
            if delay_s is None:
                self._log.error("gave up connecting to the engine", **fields)
                self._enter("failed")
                return
            delay_ms = round(delay_s * 1_000)
            self._log.warn("not connected to the engine; retrying", **fields, delay_ms=delay_ms)
            self._at = (self._at + 1) % len(self._addresses)
            self._enter("reconnecting")
            await self._until_stopped(asyncio.sleep(delay_s))
        self._enter("closed")

    def _next_delay_s(self) -> float | None:
        # Each other address is tried at once, but not again before a wait: engines that accept and close must not be
        # flooded.
        if self._soon_attempts < len(self._addresses) - 1:
            self._soon_attempts += 1
            return self._backoff.soon_s()
        self._soon_attempts = 0
        return self._backoff.next_delay_s()

    def _is_stable(self) -> None:
        self._backoff.reset()
        self._soon_attempts = 0

    def _is_ending(self) -> bool:
        return self._ending

    async def stop(self) -> None:
        """Closes the connection permanently. Aborts the socket after 1 s."""
        self._ending = True
        if self._socket is not None:
            await self._socket.close()
        self._stopping.set()

    async def _until_stopped(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((task, stop), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (task, stop):
                each.cancel()
            await asyncio.gather(task, stop, return_exceptions=True)

    async def _connect_once(self) -> None:
        self._close_code = None
        try:
            opened = await connect(
                self.address,
                additional_headers=_with_token(self.address, self._headers),
                compression=None,
                max_size=_MAX_INBOUND_BYTES,
                open_timeout=_HANDSHAKE_TIMEOUT_S,
                ping_interval=_PING_EVERY_S,
                ping_timeout=_PONG_TIMEOUT_S,
                close_timeout=_CLOSE_TIMEOUT_S,
                # The engine is connected directly: proxies of the environment are for the web.
                proxy=None,
            )
        except Exception as cause:  # noqa: BLE001 - every error is logged, and the next attempt may succeed
            self._last_problem = _describe(cause)
            return
        self._last_problem = ""
        try:
            await self._converse(opened)
        finally:
            abort(opened.transport)

    async def _converse(self, opened: ClientConnection) -> None:
        stable = asyncio.get_running_loop().call_later(_STABLE_AFTER_S, self._is_stable)
        self._socket = opened
        self._drop_reason = None
        self._conversation.opened()
        writer = asyncio.ensure_future(self._write(opened))
        try:
            async for frame in opened:
                self._conversation.received(frame)
            self._last_problem = self._drop_reason or f"the engine closed the connection ({_close_of(opened)})"
        except ConnectionClosed as closed:
            self._last_problem = self._drop_reason or f"the connection ended: {closed}"
        finally:
            stable.cancel()
            self._close_code = opened.close_code
            self._socket = None
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            self._written.set()
            self._conversation.lost()

    async def _write(self, opened: ClientConnection) -> None:
        while True:
            await self._to_write.wait()
            self._to_write.clear()
            frames = self._conversation.take_frames()
            try:
                await _send_together(opened, frames)
            except ConnectionClosed:  # the reading side raises it too, and records the reason
                return
            if not self._to_write.is_set():
                self._written.set()

    def _enter(self, state: ConnectionState) -> None:
        if self._state == state:
            return
        self._state = state
        self._conversation.state_changed(state)


async def _send_together(opened: ClientConnection, frames: list[str | bytes]) -> None:
    if len(frames) < 2 or _TCP_CORK is None:
        for frame in frames:
            await send(opened, frame)
        return
    tcp = opened.transport.get_extra_info("socket")
    corked = _set_cork(tcp, 1)
    try:
        for frame in frames:
            await send(opened, frame)
    finally:
        if corked:
            _set_cork(tcp, 0)


def _set_cork(tcp: socket.socket, on: int) -> bool:
    assert _TCP_CORK is not None
    try:
        tcp.setsockopt(socket.IPPROTO_TCP, _TCP_CORK, on)
    except OSError:  # the socket was closed
        return False
    return True


def _with_token(address: str, headers: Mapping[str, str]) -> dict[str, str]:
    """Adds the access token of ``SVC_TOKEN``, unless the address or the headers contain credentials."""
    token = os.environ.get("SVC_TOKEN", "")
    own = {name.lower() for name in headers}
    if token == "" or "authorization" in own or "@" in address:
        return dict(headers)
    return {**headers, "Authorization": f"Bearer {token}"}


def _describe(cause: BaseException) -> str:
    if isinstance(cause, InvalidStatus):
        status = cause.response.status_code
        hint = "; check the token (SVC_TOKEN)" if status in (401, 403) else ""
        return f"the engine refused the connection with HTTP {status}{hint}"
    if isinstance(cause, ConnectionRefusedError) or "Connect call failed" in str(cause):
        return "nothing listens at this address; is the engine running?"
    if isinstance(cause, asyncio.TimeoutError):
        return f"the handshake took longer than {_HANDSHAKE_TIMEOUT_S:g} s"
    return f"{type(cause).__name__}: {cause}"


def _close_of(opened: ClientConnection) -> str:
    reason = opened.close_reason
    return f"code {opened.close_code}, {reason}" if reason else f"code {opened.close_code}"

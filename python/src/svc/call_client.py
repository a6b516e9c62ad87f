"""Calls of functions from any thread or event loop. They are made on the worker's loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .blocking import blocking_method
from .channel_ends import Channel, ChannelEnds, channel_creation
from .channel_reader import ChannelReader
from .context import HandlerContext, current_context
from .engine_link import EngineLink
from .errors import CallError
from .handler_pool import HandlerPool
from .loop_thread import LoopThread, refuse_on_loop
from .outgoing import Mode, Outgoing
from .pending import Waiter
from .protocol import MAX_TIMEOUT_MS
from .requests import CallRequest, outgoing_of

# A call ends by its own deadline. This limit only applies if the loop died.
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class StartedCall:
    """A call whose result is awaited later."""

    outgoing: Outgoing
    result: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)
    #: Key of the call in the session; empty until the loop has started the call.
    key: list[int] = field(default_factory=list)


class CallClient:
    """Makes calls. Within handlers they propagate the trace context.

    Its coroutines block instead of suspending while a blocking method runs (see ``blocking``).
    """

    def __init__(
        self, loop: LoopThread, link: EngineLink, pool: HandlerPool, ends: ChannelEnds, default_timeout_ms: int | None
    ) -> None:
        self._loop = loop
        self._link = link
        self._pool = pool
        self._ends = ends
        self._default_timeout_ms = default_timeout_ms

    async def call(
        self, request: Mapping[str, Any], mode: Mode = "call", *, context: HandlerContext | None = None
    ) -> Any:
        """Makes a call and returns its result. ``context``: the handler that makes it; default: the running one."""
        outgoing = self._outgoing(request, mode, context)
        if not self._loop.is_current() or blocking_method() is not None:
            return await self.finish(self._start(outgoing))
        # On the worker's loop no other thread is involved.
        key: list[int] = []
        result: asyncio.Future[Any] = self._loop.loop.create_future()
        self._start_on_loop(outgoing, result, key)
        return await self._await(result, key)

    def start(self, request: Mapping[str, Any], mode: Mode = "call") -> StartedCall:
        """Starts a call without waiting for its result."""
        return self._start(self._outgoing(request, mode, None))

    async def finish(self, started: StartedCall) -> Any:
        """Returns the result of a started call."""
        if blocking_method() is None:
            return await self._await(asyncio.wrap_future(started.result), started.key)
        function_id = started.outgoing.function_id
        limit_s = (started.outgoing.timeout_ms or MAX_TIMEOUT_MS) / 1_000 + _GRACE_S
        with self._pool.slot_released():
            try:
                return started.result.result(limit_s)
            except concurrent.futures.TimeoutError:
                message = f"Function {function_id} did not answer, and the worker's event loop does not run"
                raise CallError("call_timeout", message, {"function_id": function_id}) from None
            except KeyboardInterrupt:
                self.withdraw(started)
                raise

    def withdraw(self, started: StartedCall) -> None:
        """Cancels a started call: its result is not needed any more."""
        self._withdraw(started.key)

    async def create_channel(self, buffer_items: int | None = None) -> Channel:
        return self._ends.channel(await self.call(channel_creation(buffer_items)))

    def reader(self, ref: object) -> ChannelReader:
        return self._ends.reader(ref)

    def _outgoing(self, request: Mapping[str, Any], mode: Mode, context: HandlerContext | None) -> Outgoing:
        return outgoing_of(
            request, mode, current_context.get() if context is None else context, self._default_timeout_ms
        )

    def _start(self, outgoing: Outgoing) -> StartedCall:
        method = blocking_method()
        if method is not None:
            refuse_on_loop(self._loop, method)
        started = StartedCall(outgoing)
        if not self._loop.soon(lambda: self._start_on_loop(outgoing, started.result, started.key)):
            message = f"the worker was shut down; {outgoing.function_id} was not called"
            raise CallError("draining", message, {"function_id": outgoing.function_id})
        return started

    def _start_on_loop(self, outgoing: Outgoing, waiter: Waiter, key: list[int]) -> None:
        given = self._link.call(outgoing, waiter)
        if given is not None:
            key.append(given)

    async def _await(self, result: asyncio.Future[Any], key: list[int]) -> Any:
        try:
            return await result
        except asyncio.CancelledError:
            self._withdraw(key)
            raise

    def _withdraw(self, key: list[int]) -> None:
        # Runs after the start on the same loop, so the key is known by then.
        def withdraw() -> None:
            for one in key:
                self._link.withdraw(one)

        self._loop.soon(withdraw)


class ModuleClient:
    """Base of ``worker.state`` and the like: methods that call the functions of one module of the engine."""

    _name: ClassVar[str]

    def __init__(self, calls: CallClient) -> None:
        self._calls = calls

    async def _call(
        self,
        function_id: str,
        /,
        nullable: Mapping[str, object] | None = None,
        *,
        timeout_ms: int | None = None,
        **members: object,
    ) -> Any:
        """Calls a function with these members as its payload, except those that are None.

        Members for which None is a value are passed in ``nullable``.
        """
        return await self._calls.call(module_request(function_id, nullable, timeout_ms=timeout_ms, **members))


def module_request(
    function_id: str,
    /,
    nullable: Mapping[str, object] | None = None,
    *,
    timeout_ms: int | None = None,
    **members: object,
) -> CallRequest:
    """Returns the request of ``ModuleClient._call``."""
    payload = {name: value for name, value in members.items() if value is not None}
    request: CallRequest = {"function_id": function_id, "payload": {**payload, **(nullable or {})}}
    if timeout_ms is not None:
        request["timeout_ms"] = timeout_ms
    return request


async def all_pages(fetch: Callable[[str | None], Awaitable[Any]], member: str = "items") -> AsyncIterator[Any]:
    """Yields the items of all pages. ``fetch`` takes the previous page's cursor, None for the first page."""
    cursor: str | None = None
    while True:
        page = await fetch(cursor)
        for item in page[member]:
            yield item
        cursor = page["cursor"]
        if cursor is None:
            return

"""How calls get from any thread or event loop onto the worker's loop, and their outcome back."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

from .engine_link import EngineLink
from .errors import CallError
from .loop_thread import LoopThread, refuse_on_loop
from .outgoing import Outgoing
from .pool import HandlerPool
from .protocol import MAX_TIMEOUT_MS

# A call ends by its own deadline; this is only for a loop that died.
_GRACE_S = 10.0


class Calling:
    def __init__(self, loop: LoopThread, link: EngineLink, pool: HandlerPool) -> None:
        self._loop = loop
        self._link = link
        self._pool = pool

    def wait(self, outgoing: Outgoing, method: str) -> Any:
        refuse_on_loop(self._loop, f"worker.{method}", f"await worker.{method}_async(...)")
        waiter: concurrent.futures.Future[Any] = concurrent.futures.Future()
        key: list[int] = []
        self._start(outgoing, waiter, key)
        limit_s = (outgoing.timeout_ms or MAX_TIMEOUT_MS) / 1_000 + _GRACE_S
        with self._pool.place_given_up():
            try:
                return waiter.result(limit_s)
            except concurrent.futures.TimeoutError:
                message = f"Function {outgoing.function_id} did not answer, and the worker's event loop does not run"
                raise CallError("call_timeout", message, {"function_id": outgoing.function_id}) from None
            except KeyboardInterrupt:
                self._withdraw(key)
                raise

    async def await_(self, outgoing: Outgoing) -> Any:
        key: list[int] = []
        if self._loop.is_current():
            own: asyncio.Future[Any] = self._loop.loop.create_future()
            self._start_on_loop(outgoing, own, key)
            future = own
        else:
            waiter: concurrent.futures.Future[Any] = concurrent.futures.Future()
            self._start(outgoing, waiter, key)
            future = asyncio.wrap_future(waiter)
        try:
            return await future
        except asyncio.CancelledError:
            self._withdraw(key)
            raise

    def _start(
        self,
        outgoing: Outgoing,
        waiter: concurrent.futures.Future[Any],
        key: list[int],
    ) -> None:
        if not self._loop.soon(lambda: self._start_on_loop(outgoing, waiter, key)):
            message = f"the worker was shut down; {outgoing.function_id} was not called"
            raise CallError("draining", message, {"function_id": outgoing.function_id})

    def _start_on_loop(
        self,
        outgoing: Outgoing,
        waiter: concurrent.futures.Future[Any] | asyncio.Future[Any],
        key: list[int],
    ) -> None:
        given = self._link.call(outgoing, waiter)
        if given is not None:
            key.append(given)

    def _withdraw(self, key: list[int]) -> None:
        # Behind the start on the same loop, so the key is known by then.
        def withdraw() -> None:
            for one in key:
                self._link.withdraw(one)

        self._loop.soon(withdraw)

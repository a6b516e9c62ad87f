"""How calls get from any thread or event loop onto the worker's loop, and their outcome back."""

from __future__ import annotations

import asyncio
import concurrent.futures
from dataclasses import dataclass, field
from typing import Any

from .engine_link import EngineLink
from .errors import CallError
from .loop_thread import LoopThread, refuse_on_loop
from .outgoing import Outgoing
from .pool import HandlerPool
from .protocol import MAX_TIMEOUT_MS

# A call ends by its own deadline; this is only for a loop that died.
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that was begun by a thread, which may do something else before it waits for the answer."""

    outgoing: Outgoing
    answer: concurrent.futures.Future[Any] = field(default_factory=concurrent.futures.Future)
    key: list[int] = field(default_factory=list)


class Calling:
    def __init__(self, loop: LoopThread, link: EngineLink, pool: HandlerPool) -> None:
        self._loop = loop
        self._link = link
        self._pool = pool

    def wait(self, outgoing: Outgoing, method: str) -> Any:
        return self.finish(self.begin(outgoing, method))

    def begin(self, outgoing: Outgoing, method: str | None = None) -> Begun:
        """Raises RuntimeError on the worker's loop for ``method``, the worker's that blocks until the answer."""
        if method is not None:
            refuse_on_loop(self._loop, f"worker.{method}", f"await worker.{method.rstrip('_')}_async(...)")
        begun = Begun(outgoing)
        self._start(outgoing, begun.answer, begun.key)
        return begun

    def finish(self, begun: Begun) -> Any:
        """Waits for the answer."""
        outgoing = begun.outgoing
        limit_s = (outgoing.timeout_ms or MAX_TIMEOUT_MS) / 1_000 + _GRACE_S
        with self._pool.place_given_up():
            try:
                return begun.answer.result(limit_s)
            except concurrent.futures.TimeoutError:
                message = f"Function {outgoing.function_id} did not answer, and the worker's event loop does not run"
                raise CallError("call_timeout", message, {"function_id": outgoing.function_id}) from None
            except KeyboardInterrupt:
                self.withdraw(begun)
                raise

    def withdraw(self, begun: Begun) -> None:
        """Nobody waits for the answer any more."""
        self._withdraw(begun.key)

    async def await_(self, outgoing: Outgoing) -> Any:
        if not self._loop.is_current():
            return await self.finish_async(self.begin(outgoing))
        key: list[int] = []
        answer: asyncio.Future[Any] = self._loop.loop.create_future()
        self._start_on_loop(outgoing, answer, key)
        return await self._or_withdraw(answer, key)

    async def finish_async(self, begun: Begun) -> Any:
        return await self._or_withdraw(asyncio.wrap_future(begun.answer), begun.key)

    async def _or_withdraw(self, answer: asyncio.Future[Any], key: list[int]) -> Any:
        try:
            return await answer
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

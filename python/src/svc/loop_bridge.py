"""Work that must run on the worker's loop, requested by any thread or any other event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from typing import Any, TypeVar

from .blocking import blocking_method
from .errors import CallError
from .handler_pool import HandlerPool
from .loop_thread import LoopThread, refuse_on_loop

Result = TypeVar("Result")

#: How often a waiting thread checks that the loop still runs.
_CHECK_EVERY_S = 5.0


class LoopBridge:
    """``pool``: threads whose slots are released while they wait."""

    def __init__(self, loop: LoopThread, pool: HandlerPool | None = None) -> None:
        self._loop = loop
        self._pool = pool

    async def run(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Runs a coroutine on the worker's loop and returns its result. Cancelling cancels the coroutine.

        Blocks the thread instead of suspending while a blocking method runs.

        Raises:
            RuntimeError: a blocking method was called on the worker's event loop.
            CallError: ``draining`` if the worker was shut down.
        """
        method = blocking_method()
        if method is not None:
            refuse_on_loop(self._loop, method)
            with nullcontext() if self._pool is None else self._pool.slot_released():
                return self._wait(self._start(work))
        if self._loop.is_current():
            return await work()
        result = asyncio.wrap_future(self._start(work))
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError:
            result.cancel()
            raise
        if result.cancelled():  # by the end of the loop, so this must not look like a cancellation of the caller
            raise _shut_down()
        return result.result()

    def soon(self, action: Callable[[], object]) -> None:
        """Schedules the action on the loop. Does nothing if the worker was shut down."""
        self._loop.soon(action)

    def _wait(self, future: concurrent.futures.Future[Result]) -> Result:
        try:
            while True:
                try:
                    return future.result(_CHECK_EVERY_S)
                except concurrent.futures.TimeoutError:
                    if future.done():  # the coroutine itself raised TimeoutError
                        raise
                    if not self._loop.is_running():
                        raise _shut_down() from None
        except concurrent.futures.CancelledError:
            raise _shut_down() from None
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _start(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> concurrent.futures.Future[Result]:
        coroutine = work()
        try:
            return self._loop.start(coroutine)
        except RuntimeError:
            coroutine.close()
            raise _shut_down() from None


def _shut_down() -> CallError:
    return CallError("draining", "the worker was shut down")

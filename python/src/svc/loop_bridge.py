"""Work that belongs to the worker's loop, asked for by any thread or any other event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .errors import CallError
from .loop_thread import LoopThread, refuse_on_loop
from .pool import HandlerPool

Result = TypeVar("Result")

#: How often a thread that waits looks whether the loop still runs.
_LOOK_EVERY_S = 5.0


class LoopBridge:
    def __init__(self, loop: LoopThread, pool: HandlerPool) -> None:
        self._loop = loop
        self._pool = pool

    def wait(self, work: Callable[[], Coroutine[Any, Any, Result]], what: str, instead: str) -> Result:
        """Carries the work out on the loop and blocks until it is done.

        Raises:
            RuntimeError: called on the worker's event loop, which that would block.
            CallError: ``draining`` when the worker was shut down.
        """
        refuse_on_loop(self._loop, what, instead)
        with self._pool.place_given_up():
            future = self._start(work)
            try:
                while True:
                    try:
                        return future.result(_LOOK_EVERY_S)
                    except concurrent.futures.TimeoutError:
                        if future.done():  # the work's own error
                            raise
                        if not self._loop.is_running():
                            raise _shut_down() from None
            except concurrent.futures.CancelledError:
                raise _shut_down() from None
            except KeyboardInterrupt:
                future.cancel()
                raise

    async def await_(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Carries the work out on the loop. Cancelling cancels it."""
        if self._loop.is_current():
            return await work()
        return await asyncio.wrap_future(self._start(work))

    def soon(self, action: Callable[[], object]) -> None:
        """Runs the action on the loop, in its turn; nothing happens when the worker was shut down."""
        self._loop.soon(action)

    def _start(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> concurrent.futures.Future[Result]:
        coroutine = work()
        try:
            return self._loop.start(coroutine)
        except RuntimeError:
            coroutine.close()
            raise _shut_down() from None


def _shut_down() -> CallError:
    return CallError("draining", "the worker was shut down")

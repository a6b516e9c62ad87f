"""An event loop on its own thread, so that blocking code elsewhere never delays the socket."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_START_TIMEOUT_S = 10.0


class LoopThread:
    """Starts immediately. The thread is a daemon, so that a program that ends without ``stop`` still ends."""

    def __init__(self, name: str) -> None:
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()
        if not self._ready.wait(_START_TIMEOUT_S):
            raise RuntimeError(f"the event loop did not start within {_START_TIMEOUT_S:g} s")

    def _main(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._ready.set)
        try:
            self._loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    def is_running(self) -> bool:
        return self._thread.is_alive() and not self._loop.is_closed()

    def soon(self, action: Callable[[], object]) -> bool:
        """Schedules the action on the loop. Returns False if the loop has ended, so the action will never run."""
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            return False
        return True

    def do(self, action: Callable[[], Result]) -> Result:
        """Runs the action on the loop and returns or raises what it does. For short actions only."""
        if self.is_current():
            return action()
        outcome: concurrent.futures.Future[Result] = concurrent.futures.Future()

        def perform() -> None:
            try:
                outcome.set_result(action())
            except BaseException as raised:  # noqa: BLE001 - raised again on the waiting thread
                outcome.set_exception(raised)

        if not self.soon(perform):
            raise RuntimeError("the worker was shut down")
        return outcome.result()

    def start(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self, timeout_s: float) -> None:
        """Ends the loop and cancels its tasks. Must not be called on its own thread."""
        if self.soon(self._loop.stop):
            self._thread.join(timeout_s)


def refuse_on_loop(loop: LoopThread, what: str, instead: str | None = None) -> None:
    """Raises RuntimeError on the worker's loop, where waiting would block the loop that delivers the result.

    ``instead``: what to use there. Default: the ``_async`` form of the method ``what``.
    """
    if loop.is_current():
        instead = instead or f"await {what.rstrip('_')}_async()"
        raise RuntimeError(f"{what}() would block the worker's event loop, on which async handlers run; use {instead}")

"""An event loop on a thread of its own, so that blocking code elsewhere never holds up the socket."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")

_START_TIMEOUT_S = 10.0


class LoopThread:
    """Started at once; a daemon, so that a program that ends without ``stop`` still ends."""

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
        """Runs the action on the loop. False when the loop has ended and it never will."""
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            return False
        return True

    def do(self, action: Callable[[], Result]) -> Result:
        """Runs the action on the loop and hands back what it returns or raises. For short actions only."""
        if self.is_current():
            return action()
        outcome: concurrent.futures.Future[Result] = concurrent.futures.Future()

        def carry_out() -> None:
            try:
                outcome.set_result(action())
            except BaseException as raised:  # noqa: BLE001 - handed to the thread that waits
                outcome.set_exception(raised)

        if not self.soon(carry_out):
            raise RuntimeError("the worker was shut down")
        return outcome.result()

    def start(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self, timeout_s: float) -> None:
        """Ends the loop and what still runs on it. Not on its own thread."""
        if self.soon(self._loop.stop):
            self._thread.join(timeout_s)


def refuse_on_loop(loop: LoopThread, what: str, instead: str) -> None:
    """Raises RuntimeError where waiting would block the loop that the answer comes on."""
    if loop.is_current():
        raise RuntimeError(f"{what}() would block the worker's event loop, on which async handlers run; use {instead}")

"""Shutdown of a worker: by ``shutdown``, by a signal, or at the end of the program."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from .engine_link import EngineLink
from .handler_pool import HandlerPool
from .logger import Logger
from .loop_thread import LoopThread

# Time for the remaining steps after the handlers, which have `timeout_s`.
_GRACE_S = 10.0
# On Windows, signals do not interrupt a wait without a timeout.
_CHECK_EVERY_S = 1.0
_SHUT_DOWN = "shut down"

#: Ends a wait of `run`, with the name of a signal or `_SHUT_DOWN`.
Wake = Callable[[str], object]


class Lifetime:
    def __init__(
        self, loop: LoopThread, link: EngineLink, pool: HandlerPool, log: Logger, provides: Callable[[], bool]
    ) -> None:
        self._loop = loop
        self._link = link
        self._pool = pool
        self._log = log
        self._provides = provides
        self._begun = threading.Lock()
        self._done = threading.Event()
        self._wakes: tuple[Wake, ...] = ()
        atexit.register(self._at_exit)

    @property
    def is_ending(self) -> bool:
        return self._begun.locked()

    def shutdown(self, timeout_s: float) -> None:
        self._refuse_in_handler("shutdown()")
        if not self._begun.acquire(blocking=False):
            self._done.wait(timeout_s + _GRACE_S)
            return
        try:
            if self._loop.is_running():
                self._shut_down(timeout_s)
        finally:
            self._done.set()
            for wake in self._wakes:
                wake(_SHUT_DOWN)
            atexit.unregister(self._at_exit)

    async def shutdown_async(self, timeout_s: float) -> None:
        self._refuse_in_handler("shutdown_async()")
        # Ends the worker's own loop, so it cannot run there.
        await asyncio.to_thread(self.shutdown, timeout_s)

    def _refuse_in_handler(self, what: str) -> None:
        if self._loop.is_current() or self._pool.is_current():
            raise RuntimeError(
                f"{what} waits for running handlers, so it cannot be called inside one; "
                "use threading.Thread(target=worker.shutdown).start()"
            )

    def _shut_down(self, timeout_s: float) -> None:
        ended = self._loop.start(self._link.shut_down(timeout_s))
        try:
            ended.result(2 * timeout_s + _GRACE_S)
        except concurrent.futures.TimeoutError:
            self._log.error("the worker did not shut down in time; disconnecting", timeout_s=timeout_s)
        self._pool.close()
        self._loop.stop(_GRACE_S)

    def run(self) -> None:
        _refuse_off_main_thread("worker.run()")
        # SimpleQueue is safe in signal handlers; Event is not.
        reasons: queue.SimpleQueue[str] = queue.SimpleQueue()
        with self._woken(reasons.put):
            reason = _next_of(reasons)
        self._log_reason(reason)
        self.shutdown(_GRACE_S)

    async def run_async(self) -> None:
        _refuse_off_main_thread("worker.run_async()")
        self._refuse_in_handler("run_async()")
        loop = asyncio.get_running_loop()
        woken: asyncio.Future[str] = loop.create_future()

        def settle(reason: str) -> None:
            if not woken.done():
                woken.set_result(reason)

        with self._woken(lambda reason: loop.call_soon_threadsafe(settle, reason)):
            while not woken.done():
                await asyncio.wait([woken], timeout=_CHECK_EVERY_S)
        self._log_reason(woken.result())
        await self.shutdown_async(_GRACE_S)

    @contextmanager
    def _woken(self, wake: Wake) -> Iterator[None]:
        """Calls ``wake`` on a signal, or when the worker was shut down. A second signal has its usual effect."""

        def on_signal(number: int, _: FrameType | None) -> None:
            wake(signal.Signals(number).name)

        self._wakes = (*self._wakes, wake)
        before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            if self._done.is_set():
                wake(_SHUT_DOWN)
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._wakes = tuple(each for each in self._wakes if each is not wake)

    def _log_reason(self, reason: str) -> None:
        if reason != _SHUT_DOWN:
            self._log.info("shutting down", signal=reason)

    def _at_exit(self) -> None:
        if self._provides():
            self._log.warn("the program is ending, and with it this worker; call worker.run() at its end to keep it up")
        self.shutdown(_GRACE_S)


def _next_of(reasons: queue.SimpleQueue[str]) -> str:
    while True:
        try:
            return reasons.get(timeout=_CHECK_EVERY_S)
        except queue.Empty:
            continue


def _refuse_off_main_thread(what: str) -> None:
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError(f"{what} waits for signals, so it must be called on the main thread")

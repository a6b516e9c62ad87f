"""Shutdown of a worker: by ``shutdown``, by a signal, or at the end of the program."""

from __future__ import annotations

import atexit
import concurrent.futures
import queue
import signal
import threading
from collections.abc import Callable
from types import FrameType

from .engine_link import EngineLink
from .logger import Logger
from .loop_thread import LoopThread
from .pool import HandlerPool

# Time for the remaining steps after the handlers, which have `timeout_s`.
_GRACE_S = 10.0


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
        self._wake_run: queue.SimpleQueue[str] = queue.SimpleQueue()
        atexit.register(self._at_exit)

    @property
    def is_ending(self) -> bool:
        return self._begun.locked()

    def shutdown(self, timeout_s: float) -> None:
        if self._loop.is_current() or self._pool.is_current():
            raise RuntimeError(
                "shutdown() waits for running handlers, so it cannot be called inside one; "
                "use threading.Thread(target=worker.shutdown).start()"
            )
        if not self._begun.acquire(blocking=False):
            self._done.wait(timeout_s + _GRACE_S)
            return
        try:
            if self._loop.is_running():
                self._shut_down(timeout_s)
        finally:
            self._done.set()
            self._wake_run.put("shut down")
            atexit.unregister(self._at_exit)

    def _shut_down(self, timeout_s: float) -> None:
        ended = self._loop.start(self._link.shut_down(timeout_s))
        try:
            ended.result(2 * timeout_s + _GRACE_S)
        except concurrent.futures.TimeoutError:
            self._log.error("the worker did not shut down in time; disconnecting", timeout_s=timeout_s)
        self._pool.close()
        self._loop.stop(_GRACE_S)

    def run(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("worker.run() waits for signals, so it must be called on the main thread")

        def on_signal(number: int, _: FrameType | None) -> None:
            # SimpleQueue is safe in signal handlers; Event is not.
            self._wake_run.put(signal.Signals(number).name)

        numbers = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, on_signal) for number in numbers}
        try:
            reason = self._wait_for_wake()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if reason != "shut down":
            self._log.info("shutting down", signal=reason)
        self.shutdown(_GRACE_S)

    def _wait_for_wake(self) -> str:
        while True:
            try:
                # On Windows, signals do not interrupt a wait without a timeout.
                return self._wake_run.get(timeout=1.0)
            except queue.Empty:
                continue

    def _at_exit(self) -> None:
        if self._provides():
            self._log.warn("the program is ending, and with it this worker; call worker.run() at its end to keep it up")
        self.shutdown(_GRACE_S)

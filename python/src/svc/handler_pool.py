"""Threads for sync handlers: a bounded number of working threads, and more for handlers that wait for nested calls."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Maximum number of threads that wait within nested calls, per working thread, before other calls must wait.
_WAITING_PER_SLOT = 4
#: Absolute maximum of such threads. It ends infinite recursion.
MAX_WAITING = 1_024
_IDLE_S = 30.0

_this_thread = threading.local()


class HandlerPool:
    """Runs sync handlers on daemon threads, at most ``size`` concurrently; further ones wait in order.

    A handler that waits for a nested call (``worker.call``) releases its slot meanwhile. Otherwise ``size`` handlers
    that each call a function of the same worker would deadlock until their deadlines. The number of such waiting
    threads is bounded: from ``4 * size`` on, only nested calls are started (calls by handlers of this worker, which the
    others wait for); from 1,024 on, nested calls are rejected.

    A handler whose nested call has finished continues immediately, without waiting for a slot: it may hold a lock that
    the others need.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._size = size
        self._name = name
        self._changed = threading.Condition()
        self._outer: deque[Callable[[], None]] = deque()
        self._nested: deque[Callable[[], None]] = deque()
        self._started = 0
        #: Threads that run a handler and do not wait for a nested call.
        self._working = 0
        #: Threads that wait for a nested call.
        self._waiting = 0
        #: Threads that are idle or about to look for work.
        self._free = 0
        self._closed = False

    def run(self, work: Callable[[], None]) -> None:
        """Schedules ``work``, which must not raise. Returns immediately."""
        self._add(self._outer, work)

    def run_nested(self, work: Callable[[], None]) -> bool:
        """As ``run``, for a call by a handler of this worker, which runs before others. Returns False if rejected."""
        if self._waiting >= MAX_WAITING:
            return False
        self._add(self._nested, work)
        return True

    def close(self) -> None:
        """Ends threads as they finish and drops waiting work."""
        with self._changed:
            self._closed = True
            self._outer.clear()
            self._nested.clear()
            self._changed.notify_all()

    def is_current(self) -> bool:
        """Returns True on one of this pool's threads."""
        return getattr(_this_thread, "pool", None) is self

    @contextmanager
    def slot_released(self) -> Iterator[None]:
        """Releases a handler's slot while it waits for a call. Does nothing on other threads."""
        if not self.is_current():
            yield
            return
        with self._changed:
            self._working -= 1
            self._waiting += 1
            self._find_threads()
        try:
            yield
        finally:
            with self._changed:
                self._working += 1
                self._waiting -= 1
                self._find_threads()

    def _add(self, queue: deque[Callable[[], None]], work: Callable[[], None]) -> None:
        with self._changed:
            if self._closed:
                return
            queue.append(work)
            self._find_threads()

    def _find_threads(self) -> None:
        startable = min(self._size - self._working, sum(len(queue) for queue in self._open_queues()))
        if startable <= 0:
            return
        self._changed.notify(startable)
        # A free thread may miss the notification if its wait has just timed out, but it then checks for work again.
        for _ in range(startable - self._free):
            self._started += 1
            name = f"{self._name}-handler-{self._started}"
            try:
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            except RuntimeError:  # the system permits no more threads; the work waits for the existing ones
                return
            self._free += 1

    def _open_queues(self) -> Iterator[deque[Callable[[], None]]]:
        yield self._nested
        if self._waiting < _WAITING_PER_SLOT * self._size:
            yield self._outer

    def _serve(self) -> None:
        _this_thread.pool = self
        while True:
            work = self._take()
            if work is None:
                return
            try:
                work()
            finally:
                # Or an idle thread would keep the last call's payload.
                del work
                with self._changed:
                    self._working -= 1
                    self._free += 1

    def _take(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._closed:
                for queue in self._open_queues() if self._working < self._size else ():
                    if queue:
                        self._working += 1
                        self._free -= 1
                        return queue.popleft()
                if not self._changed.wait(_IDLE_S) and not self._has_work():
                    break
            self._free -= 1
            return None

    def _has_work(self) -> bool:
        return self._working < self._size and any(self._open_queues())

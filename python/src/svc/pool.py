"""Threads for sync handlers: a bounded number that work, and room for those that wait for a call of their own."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: How many threads may wait within calls of their own, per handler that may work, before further calls of others wait.
_WAITING_PER_SLOT = 4
#: How many threads may wait within calls of their own at all: a function that calls itself without end fails by it.
MAX_WAITING = 1_024
_IDLE_S = 30.0

_this_thread = threading.local()


class HandlerPool:
    """Runs sync handlers on daemon threads, at most ``size`` at work at a time; further ones wait in order.

    A handler that waits for a call of its own (``worker.call``) gives its place to the next one meanwhile; otherwise
    ``size`` handlers that each call a function of the same worker would wait for each other until their deadlines. The
    threads that wait so are bounded: at ``4 * size`` of them only nested calls are started (calls that a handler of
    this worker made, which are what the others wait for), and at 1,024 those are refused.

    A handler whose nested call was answered goes on at once, without waiting for a free place: it may hold a lock that
    the others need.
    """

    def __init__(self, size: int, *, name: str) -> None:
        self._size = size
        self._name = name
        self._changed = threading.Condition()
        self._outer: deque[Callable[[], None]] = deque()
        self._nested: deque[Callable[[], None]] = deque()
        self._started = 0
        #: Threads at work, outside of nested calls.
        self._working = 0
        #: Threads that wait within a nested call.
        self._waiting = 0
        #: Threads that have nothing to do, or will look for work in a moment.
        self._free = 0
        self._closed = False

    def run(self, work: Callable[[], None]) -> None:
        """``work`` must not raise. Returns at once."""
        self._add(self._outer, work)

    def run_nested(self, work: Callable[[], None]) -> bool:
        """As ``run``, for a call that a handler of this worker made: it runs before others. False when refused."""
        if self._waiting >= MAX_WAITING:
            return False
        self._add(self._nested, work)
        return True

    def close(self) -> None:
        """Threads end as they finish; what still waits is dropped."""
        with self._changed:
            self._closed = True
            self._outer.clear()
            self._nested.clear()
            self._changed.notify_all()

    def is_current(self) -> bool:
        """True on one of this pool's threads."""
        return getattr(_this_thread, "pool", None) is self

    @contextmanager
    def place_given_up(self) -> Iterator[None]:
        """Around a wait for a call, on any thread: a handler's place is free for others meanwhile."""
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
        # Not every free thread hears a notice (it may just be giving up waiting), but each looks for work once more.
        for _ in range(startable - self._free):
            self._started += 1
            name = f"{self._name}-handler-{self._started}"
            try:
                threading.Thread(target=self._serve, name=name, daemon=True).start()
            except RuntimeError:  # the system gives no more threads; the work waits for those that there are
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

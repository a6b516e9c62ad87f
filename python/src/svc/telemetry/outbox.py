"""Buffer of telemetry entries for the engine: batched and bounded."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

#: Maximum time that an entry waits for a batch to fill.
FLUSH_AFTER_S = 0.1
#: Maximum number of entries per batch.
BATCH_ENTRIES = 64
# Limits of the buffer. Beyond them the oldest entries are dropped.
MAX_ENTRIES = 1_000
MAX_CHARS = 1024 * 1024


class Soon(Protocol):
    """Schedules an action on the worker's loop after a delay. May be called from any thread."""

    def __call__(self, delay_s: float, action: Callable[[], None], /) -> None: ...


class Outbox:
    """``add`` may be called from any thread, the other methods only on the loop's.

    Args:
        soon: Schedules actions on the loop.
        due: Called on the loop when there are entries to take.
    """

    def __init__(self, *, soon: Soon, due: Callable[[], None]) -> None:
        self._soon = soon
        self._due = due
        self._lock = threading.Lock()
        self._entries: deque[str] = deque()
        self._chars = 0
        self._dropped = 0
        self._is_open = False
        #: Scheduled flush: 0 none, 1 delayed, 2 immediate.
        self._flushing = 0

    def add(self, entry: str) -> None:
        with self._lock:
            self._entries.append(entry)
            self._chars += len(entry)
            while len(self._entries) > MAX_ENTRIES or self._chars > MAX_CHARS:
                self._chars -= len(self._entries.popleft())
                self._dropped += 1
            urgency = 2 if len(self._entries) >= BATCH_ENTRIES else 1
            if not self._is_open or self._flushing >= urgency:
                return
            self._flushing = urgency
        self._soon(0.0 if urgency == 2 else FLUSH_AFTER_S, self.flush)

    def open(self) -> None:
        """Called when the engine accepts entries."""
        with self._lock:
            self._is_open = True
        self.flush()

    def close(self) -> None:
        """Called when the engine is disconnected. Entries wait for the next connection."""
        with self._lock:
            self._is_open = False
            self._flushing = 0

    def flush(self) -> None:
        with self._lock:
            self._flushing = 0
            is_due = self._is_open and len(self._entries) > 0
        if is_due:
            self._due()

    def take(self) -> tuple[list[list[str]], int]:
        """Returns batches to write, and the number of entries dropped since the last time."""
        with self._lock:
            if not self._is_open or not self._entries:
                return [], 0
            entries, dropped = list(self._entries), self._dropped
            self._entries.clear()
            self._chars = self._dropped = 0
        return [entries[at : at + BATCH_ENTRIES] for at in range(0, len(entries), BATCH_ENTRIES)], dropped

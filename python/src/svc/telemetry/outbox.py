"""Entries as JSON text on their way to the engine: batched, bounded, never in anybody's way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol

#: Entries wait so long for company before they are sent.
FLUSH_AFTER_S = 0.1
#: So many are sent at once.
BATCH_ENTRIES = 64
# Bounds of what waits; beyond them the oldest give way.
MAX_ENTRIES = 1_000
MAX_CHARS = 1024 * 1024


class Soon(Protocol):
    """Has an action run on the worker's loop, after so many seconds. May be called from any thread."""

    def __call__(self, delay_s: float, action: Callable[[], None], /) -> None: ...


class Outbox:
    """``add`` may be called from any thread, the rest belongs to the loop's.

    Args:
        soon: Runs actions on the loop.
        due: Called on the loop when there is something to take.
    """

    def __init__(self, *, soon: Soon, due: Callable[[], None]) -> None:
        self._soon = soon
        self._due = due
        self._lock = threading.Lock()
        self._entries: deque[str] = deque()
        self._chars = 0
        self._dropped = 0
        self._is_open = False
        #: A flush is on its way to the loop: 0 none, 1 in its time, 2 at once.
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
        """The engine takes entries from now on."""
        with self._lock:
            self._is_open = True
        self.flush()

    def close(self) -> None:
        """The engine is gone: entries wait for the next one."""
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
        """Batches to be written now, and how many entries had to give way since the last time."""
        with self._lock:
            if not self._is_open or not self._entries:
                return [], 0
            entries, dropped = list(self._entries), self._dropped
            self._entries.clear()
            self._chars = self._dropped = 0
        return [entries[at : at + BATCH_ENTRIES] for at in range(0, len(entries), BATCH_ENTRIES)], dropped

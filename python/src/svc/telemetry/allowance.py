"""So much of something, and no more, within a time."""

from __future__ import annotations

import threading
import time


class Allowance:
    """At most so many of something within each second. From any thread."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._lock = threading.Lock()
        self._since: float | None = None
        self._taken = 0

    def take(self) -> bool:
        """False when there is none left."""
        now = time.monotonic()
        with self._lock:
            if self._since is None or now - self._since >= 1:
                self._since = now
                self._taken = 0
            if self._taken >= self._per_second:
                return False
            self._taken += 1
            return True

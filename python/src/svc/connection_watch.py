"""Reports the connection's state to listeners and waiting threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .connection import ConnectionState
from .listeners import Listeners
from .logger import Logger

_SETTLED: tuple[ConnectionState, ...] = ("connected", "failed", "closed")


class ConnectionWatch:
    """All methods may be called from any thread."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._state: ConnectionState = "disconnected"
        self._changed = threading.Condition()
        self._listeners = Listeners[ConnectionState]()

    @property
    def state(self) -> ConnectionState:
        return self._state

    def enter(self, state: ConnectionState) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()
        self._listeners.notify(state, self._log, "a connection state listener failed", state=state)

    def listen(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        return self._listeners.add(listener)

    def wait_settled(self, timeout_s: float) -> ConnectionState:
        """Waits until connecting has succeeded or ended, at most ``timeout_s`` seconds. Returns the state."""
        with self._changed:
            self._changed.wait_for(lambda: self._state in _SETTLED, timeout_s)
            return self._state

"""Reports the connection's state to listeners and waiting threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .connection import ConnectionState
from .logger import Logger

_SETTLED: tuple[ConnectionState, ...] = ("connected", "failed", "closed")


class ConnectionWatch:
    """All methods may be called from any thread."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._state: ConnectionState = "disconnected"
        self._changed = threading.Condition()
        self._listeners: list[Callable[[ConnectionState], object]] = []

    @property
    def state(self) -> ConnectionState:
        return self._state

    def enter(self, state: ConnectionState) -> None:
        with self._changed:
            self._state = state
            self._changed.notify_all()
            listeners = self._listeners
        for listener in listeners:
            try:
                listener(state)
            except Exception as raised:  # noqa: BLE001 - user code must not break the socket's loop
                self._log.error("a connection state listener failed", state=state, error=raised)

    def listen(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        def entry(state: ConnectionState) -> None:
            listener(state)

        with self._changed:
            self._listeners = [*self._listeners, entry]

        def unsubscribe() -> None:
            with self._changed:
                self._listeners = [each for each in self._listeners if each is not entry]

        return unsubscribe

    def wait_settled(self, timeout_s: float) -> ConnectionState:
        """Waits until connecting has succeeded or ended, at most ``timeout_s`` seconds. Returns the state."""
        with self._changed:
            self._changed.wait_for(lambda: self._state in _SETTLED, timeout_s)
            return self._state

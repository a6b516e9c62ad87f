"""Listeners of an event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Generic, TypeVar

from .logger import Logger

Event = TypeVar("Event")


class Listeners(Generic[Event]):
    """All methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: tuple[Callable[[Event], object], ...] = ()

    def add(self, listener: Callable[[Event], object]) -> Callable[[], None]:
        """Adds a listener. Returns a function that removes it."""
        entry = partial(listener)  # distinguishes listeners that are added twice
        with self._lock:
            self._entries = (*self._entries, entry)

        def remove() -> None:
            with self._lock:
                self._entries = tuple(each for each in self._entries if each is not entry)

        return remove

    def notify(self, event: Event, log: Logger, message: str, **facts: object) -> None:
        """Calls all listeners. Logs their exceptions with this message and facts."""
        for listener in self._entries:
            try:
                listener(event)
            except Exception as raised:  # noqa: BLE001 - user code must not break the socket's loop
                log.error(message, **facts, error=raised)

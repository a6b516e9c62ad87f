"""Triggers that this worker registered, and their status."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

from .effects import TriggerResult
from .errors import CallError
from .listeners import Listeners
from .logger import Logger


class Trigger:
    """A binding of a function to a trigger type, kept across reconnects. Created by ``worker.register_trigger``.

    Attributes:
        id: UUID of the binding.
        type: Trigger type, e.g. ``http``.
        function_id: Function that it calls.
    """

    def __init__(
        self,
        id: str,
        type: str,
        function_id: str,
        *,
        unregister: Callable[[Trigger], None],
        refuse_wait: Callable[[], None],
    ) -> None:
        self.id = id
        self.type = type
        self.function_id = function_id
        self._unregister = unregister
        self._refuse_wait = refuse_wait
        self._changed = threading.Condition()
        self._result: TriggerResult | None = None
        self._ended = False
        self._was_active = False
        self._listeners = Listeners[Trigger]()

    @property
    def status(self) -> Literal["pending", "active", "inactive", "error"]:
        """Status last reported by the engine. ``pending`` before the first report. ``inactive``: its function or its
        type is not available."""
        result = self._result
        return "pending" if result is None else result.status

    @property
    def reason(self) -> str | None:
        """Why the trigger is inactive or has failed."""
        result = self._result
        return None if result is None else result.reason

    def wait_registered(self, timeout_s: float = 10.0) -> Literal["active", "inactive"]:
        """Waits for the engine's result and returns the status.

        If a worker provides the type, that worker may reject the trigger later: use ``on_status``.

        Raises:
            CallError: the engine's error (``trigger_registration_failed``, ``registration_refused``, ...);
                ``call_timeout`` if no result arrived within ``timeout_s`` seconds; ``disconnected`` if the worker was
                shut down.
            RuntimeError: called on the worker's event loop (inside an async handler).
        """
        self._refuse_wait()
        with self._changed:
            if not self._changed.wait_for(lambda: self._result is not None or self._ended, timeout_s):
                what = f"the {self.type} trigger of {self.function_id}"
                message = f"the engine sent no result for {what} within {timeout_s:g} s"
                raise CallError("call_timeout", message, {"trigger_id": self.id})
            result = self._result
        if result is None:
            raise CallError("disconnected", "the worker was shut down before the engine's result arrived")
        if result.status == "error":
            raise result.error or CallError("trigger_registration_failed", result.reason or "no reason was given")
        return result.status

    def on_status(self, listener: Callable[[Trigger], object]) -> Callable[[], None]:
        """Calls the listener on each status report of the engine, e.g. when an inactive trigger becomes active.

        Returns a function that unsubscribes it. The listener runs on the worker's event loop: it must not block. Its
        exceptions are logged.
        """
        return self._listeners.add(listener)

    def unregister(self) -> None:
        """Removes the binding. Does nothing the second time."""
        self._unregister(self)

    def _settle(self, result: TriggerResult, log: Logger) -> None:
        with self._changed:
            self._result = result
            self._changed.notify_all()
        facts = {"trigger_type": self.type, "status": self.status}
        self._listeners.notify(self, log, "a trigger status listener failed", **facts)

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Triggers:
    """Triggers by id, to receive the engine's results."""

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._by_id: dict[str, Trigger] = {}

    def add(self, trigger: Trigger) -> None:
        self._by_id[trigger.id] = trigger

    def remove(self, trigger: Trigger) -> bool:
        return self._by_id.pop(trigger.id, None) is not None

    def settle(self, result: TriggerResult) -> None:
        trigger = self._by_id.get(result.id)
        if trigger is None:
            return
        if result.status == "error":
            facts = {"trigger_type": trigger.type, "function_id": trigger.function_id, "reason": result.reason}
            # A trigger that was active before was accepted, so this is not a rejection.
            what = "a trigger failed" if trigger._was_active else "the engine rejected a trigger"
            self._log.error(what, **facts)
        trigger._was_active = trigger._was_active or result.status == "active"
        trigger._settle(result, self._log)

    def end(self) -> None:
        for trigger in self._by_id.values():
            trigger._end()

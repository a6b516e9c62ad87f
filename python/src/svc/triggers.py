"""Triggers that this worker registered, and their status."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal

from .blocking import blocking
from .effects import TriggerResult
from .errors import CallError
from .listeners import Listeners
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_condition import LoopCondition


class Trigger:
    """A binding of a function to a trigger type, kept across reconnects. Created by ``worker.register_trigger``.

    Attributes:
        id: UUID of the binding.
        type: Trigger type, e.g. ``http``.
        function_id: Function that it calls.
    """

    _name: ClassVar[str] = "trigger"

    def __init__(
        self,
        id: str,
        type: str,
        function_id: str,
        *,
        unregister: Callable[[Trigger], None],
        bridge: LoopBridge,
    ) -> None:
        self.id = id
        self.type = type
        self.function_id = function_id
        self._unregister = unregister
        self._bridge = bridge
        self._changed = LoopCondition()
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

    async def wait_registered_async(self, timeout_s: float = 10.0) -> Literal["active", "inactive"]:
        """Waits for the engine's result and returns the status.

        If a worker provides the type, that worker may reject the trigger later: use ``on_status``.

        Raises:
            CallError: the engine's error (``trigger_registration_failed``, ``registration_refused``, ...);
                ``call_timeout`` if no result arrived within ``timeout_s`` seconds; ``disconnected`` if the worker was
                shut down.
            RuntimeError: ``wait_registered`` was called on the worker's event loop (inside an async handler).
        """
        try:
            settled = await self._bridge.run(lambda: self._changed.wait_for(lambda: self._is_settled, timeout_s))
        except CallError:  # the worker was shut down
            settled = self._is_settled
            if not settled:
                raise
        result = self._result
        if not settled:
            what = f"the {self.type} trigger of {self.function_id}"
            message = f"the engine sent no result for {what} within {timeout_s:g} s"
            raise CallError("call_timeout", message, {"trigger_id": self.id})
        if result is None:
            raise CallError("disconnected", "the worker was shut down before the engine's result arrived")
        if result.status == "error":
            raise result.error or CallError("trigger_registration_failed", result.reason or "no reason was given")
        return result.status

    wait_registered = blocking(wait_registered_async)

    def on_status(self, listener: Callable[[Trigger], object]) -> Callable[[], None]:
        """Calls the listener on each status report of the engine, e.g. when an inactive trigger becomes active.

        Returns a function that unsubscribes it. The listener runs on the worker's event loop: it must not block. Its
        exceptions are logged.
        """
        return self._listeners.add(listener)

    def unregister(self) -> None:
        """Removes the binding. Does nothing the second time."""
        self._unregister(self)

    @property
    def _is_settled(self) -> bool:
        return self._result is not None or self._ended

    def _settle(self, result: TriggerResult, log: Logger) -> None:
        self._result = result
        self._changed.changed()
        facts = {"trigger_type": self.type, "status": self.status}
        self._listeners.notify(self, log, "a trigger status listener failed", **facts)

    def _end(self) -> None:
        self._ended = True
        self._changed.changed()


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

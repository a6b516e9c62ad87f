"""Trigger types that this worker provides. Calls their handlers to bind and unbind triggers, in order."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .effects import Bind, Unbind
from .errors import CallError
from .handler_pool import HandlerPool
from .logger import Logger


@dataclass(frozen=True, slots=True)
class TriggerBinding:
    """A trigger that a provider binds. To fire it, call ``function_id``."""

    id: str
    trigger_type: str
    function_id: str
    config: Any
    metadata: Any = None


class TriggerHandler(Protocol):
    """Provides a trigger type. Both methods may be sync or async. Calls for one type never overlap.

    After a reconnect all bindings are unregistered, then the engine registers them again.
    """

    def register_trigger(self, binding: TriggerBinding, /) -> Awaitable[None] | None:
        """Starts firing. An exception rejects the binding with its message."""

    def unregister_trigger(self, binding: TriggerBinding, /) -> Awaitable[None] | None:
        """Stops firing. Only called for bindings whose ``register_trigger`` succeeded."""


class Providers:
    def __init__(self, pool: HandlerPool, log: Logger, answer: Callable[[Bind, CallError | None], None]) -> None:
        self._pool = pool
        self._log = log
        self._answer = answer
        self._handlers: dict[str, TriggerHandler] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        #: Handler of each bound trigger, by trigger id.
        self._bound: dict[str, TriggerHandler] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, type_id: str, handler: TriggerHandler) -> None:
        self._handlers[type_id] = handler

    def remove(self, type_id: str) -> None:
        self._handlers.pop(type_id, None)

    def bind(self, bind: Bind) -> None:
        self._start(self._bind(bind))

    def unbind(self, unbind: Unbind) -> None:
        self._start(self._unbind(unbind))

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _bind(self, bind: Bind) -> None:
        async with self._lock(bind.trigger_type):
            handler = self._handlers.get(bind.trigger_type)
            if handler is None:
                self._answer(bind, CallError("trigger_type_not_found", f"Trigger type {bind.trigger_type} not found"))
                return
            try:
                await self._call(handler.register_trigger, _binding(bind))
            except Exception as raised:  # noqa: BLE001 - user code; its errors go to the engine and the log
                facts = {"trigger_type": bind.trigger_type, "function_id": bind.function_id, "error": raised}
                self._log.warn("failed to bind a trigger", **facts)
                self._answer(bind, _refusal(raised))
                return
            self._bound[bind.id] = handler
            self._answer(bind, None)

    async def _unbind(self, unbind: Unbind) -> None:
        async with self._lock(unbind.trigger_type):
            handler = self._bound.pop(unbind.id, None)
            if handler is None:
                return
            try:
                await self._call(handler.unregister_trigger, _binding(unbind))
            except Exception as raised:  # noqa: BLE001 - user code; its errors go to the log
                facts = {"trigger_type": unbind.trigger_type, "function_id": unbind.function_id, "error": raised}
                self._log.error("failed to unbind a trigger", **facts)

    def _lock(self, type_id: str) -> asyncio.Lock:
        return self._locks.setdefault(type_id, asyncio.Lock())

    async def _call(self, method: Callable[[TriggerBinding], Awaitable[None] | None], binding: TriggerBinding) -> None:
        if inspect.iscoroutinefunction(method):
            await method(binding)
            return
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Awaitable[None] | None] = loop.create_future()

        def work() -> None:
            try:
                outcome = method(binding)
            except BaseException as raised:  # noqa: BLE001 - raised on the loop
                problem = raised if isinstance(raised, Exception) else CallError.from_exception(raised)
                _soon(loop, done, lambda: done.set_exception(problem))
            else:
                _soon(loop, done, lambda: done.set_result(outcome))

        self._pool.run(work)
        outcome = await done
        if inspect.isawaitable(outcome):
            await outcome


def _soon(loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(lambda: None if done.done() else settle())
    except RuntimeError:  # the loop has ended, so nothing waits
        return


def _binding(effect: Bind | Unbind) -> TriggerBinding:
    return TriggerBinding(effect.id, effect.trigger_type, effect.function_id, effect.config, effect.metadata)


def _refusal(raised: Exception) -> CallError:
    if isinstance(raised, CallError):
        return raised
    return CallError("trigger_registration_failed", CallError.from_exception(raised).message)

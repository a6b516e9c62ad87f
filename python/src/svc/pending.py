"""Waiters for the results of this worker's calls, on any thread or loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any, TypeAlias

from .effects import CallAnswered, CallFailed, CallWritten
from .errors import CallError

#: A future of the worker's own loop, or one that any thread can wait for.
Waiter: TypeAlias = "concurrent.futures.Future[Any] | asyncio.Future[Any]"


class Pending:
    """Waiters by the session's keys. All methods belong to the loop's thread."""

    def __init__(self) -> None:
        self._waiters: dict[int, Waiter] = {}

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, key: int, waiter: Waiter) -> None:
        self._waiters[key] = waiter

    def settle(self, effect: CallAnswered | CallFailed | CallWritten) -> None:
        waiter = self._waiters.pop(effect.call, None)
        if waiter is None or not _still_waits(waiter):
            return
        if isinstance(effect, CallFailed):
            effect.error.of_call = True
            waiter.set_exception(effect.error)
        else:
            waiter.set_result(effect.result if isinstance(effect, CallAnswered) else None)


def fail(waiter: Waiter, error: Exception) -> None:
    if _still_waits(waiter):
        if isinstance(error, CallError):
            error.of_call = True
        waiter.set_exception(error)


def _still_waits(waiter: Waiter) -> bool:
    if isinstance(waiter, asyncio.Future):
        return not waiter.done()
    # Returns False if the waiter was cancelled first; the future's lock prevents a race.
    return waiter.set_running_or_notify_cancel()

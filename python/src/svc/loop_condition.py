"""Lets coroutines on the worker's loop wait until something holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class LoopCondition:
    """All methods belong to the loop's thread."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def changed(self) -> None:
        """Must be called after each change of what is waited for."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for(self, holds: Callable[[], bool], timeout_s: float) -> bool:
        """Returns True as soon as ``holds`` does, or False after ``timeout_s`` seconds."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not holds():
            if loop.time() >= deadline:
                return False
            waiter = loop.create_future()
            self._waiting.add(waiter)
            try:
                await asyncio.wait([waiter], timeout=deadline - loop.time())
            finally:
                self._waiting.discard(waiter)
        return True

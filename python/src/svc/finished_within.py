"""Waits for work, but not for longer than a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def finished_within(work: Coroutine[object, object, object], timeout_s: float) -> bool:
    """Returns True when ``work`` has finished, or False after ``timeout_s`` seconds. Unfinished work is cancelled.

    Unlike ``asyncio.wait_for`` it does not wait for the cancelled work. Until Python 3.11, a ``wait_for`` within the
    work ignores the cancellation if its own wait ends in the same turn of the loop, and the work goes on.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait((task,), timeout=timeout_s)
    finally:
        if not task.done():
            task.cancel()
    if not task.done():
        return False
    task.result()
    return True

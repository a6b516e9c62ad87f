"""``ConnectionWatch``: waiting for a connection that changes meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from svc.connection_watch import ConnectionWatch
from svc.logger import Logger
from svc.loop_bridge import LoopBridge


class LosingBridge:
    """Runs work at once; the connection is lost before the caller goes on, as on another thread."""

    def __init__(self, watch: ConnectionWatch) -> None:
        self._watch = watch

    async def run(self, work: Callable[[], Coroutine[Any, Any, object]]) -> object:
        result = await work()
        self._watch.enter("reconnecting")
        return result


def test_a_wait_that_met_a_connection_succeeds_although_it_is_lost_before_the_caller_goes_on() -> None:
    watch = ConnectionWatch(Logger(level="silent"))
    watch.enter("connected")
    bridge = cast(LoopBridge, LosingBridge(watch))
    asyncio.run(watch.wait_connected(bridge, 30, "ws://localhost:1", lambda: "lost"))

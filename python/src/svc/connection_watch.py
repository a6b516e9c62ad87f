"""Reports the connection's state to listeners and to those who wait for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from .address import without_credentials
from .connection import ConnectionState
from .errors import CallError
from .listeners import Listeners
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_condition import LoopCondition

_SETTLED: tuple[ConnectionState, ...] = ("connected", "failed", "closed")


class ConnectionWatch:
    """All but ``enter``, which belongs to the connection's loop, may be used on any thread."""

    def __init__(self, log: Logger, what: str = "worker") -> None:
        """``what``: owner of the connection, for errors."""
        self._log = log
        self._what = what
        self._state: ConnectionState = "disconnected"
        self._condition = LoopCondition()
        self._listeners = Listeners[ConnectionState]()

    @property
    def state(self) -> ConnectionState:
        return self._state

    def enter(self, state: ConnectionState) -> None:
        self._state = state
        self._condition.changed()
        self._listeners.notify(state, self._log, "a connection state listener failed", state=state)

    def listen(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        return self._listeners.add(listener)

    async def wait_connected(
        self, bridge: LoopBridge, timeout_s: float, address: str, last_problem: Callable[[], str]
    ) -> None:
        """Waits until connecting has succeeded or ended, on any thread or event loop.

        Raises:
            CallError: ``disconnected`` after ``timeout_s`` seconds, or when no attempt will be made any more.
        """

        async def settled() -> ConnectionState:
            await self._condition.wait_for(lambda: self._state in _SETTLED, timeout_s)
            return self._state

        # Read on the loop: the connection may be lost again before the caller's thread goes on.
        state: ConnectionState = "closed"
        with suppress(CallError):  # the loop has ended
            state = await bridge.run(settled)
        if state != "connected":
            raise not_connected(self._what, state, address, last_problem(), timeout_s)


def not_connected(what: str, state: ConnectionState, address: str, problem: str, timeout_s: float = 0) -> CallError:
    """Returns the error for a connection in another state than ``connected``. ``problem``: of the last attempt."""
    why = {
        "failed": "gave up connecting to the engine at",
        "closed": f"the {what} was shut down; its engine was at",
    }.get(state, f"not connected within {timeout_s:g} s to the engine at")
    shown = without_credentials(address)
    message = f"{why} {shown}: {problem}" if problem else f"{why} {shown}"
    return CallError("disconnected", message, {"address": shown, "executed": "no"})

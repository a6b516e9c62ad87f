"""Joins the session to its shell: carries frames to the socket and effects to whom they concern."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Mapping

from .backoff import Backoff, ReconnectOptions
from .channel_ends import ChannelEnds
from .connection import Connection, ConnectionState
from .context import Calls
from .effects import (
    Bind,
    CallAnswered,
    CallFailed,
    CallWritten,
    Cancel,
    Drained,
    Effect,
    Notice,
    Registered,
    Run,
    TriggerResult,
    Unbind,
)
from .errors import CallError
from .logger import Logger
from .outbound import MAX_WAITING_CHARS
from .outgoing import Outgoing
from .pending import Pending, Waiter, fail
from .pool import HandlerPool
from .providers import Providers
from .runner import Outcome, Runner
from .session import Session
from .telemetry.worker_telemetry import WorkerTelemetry
from .triggers import Triggers

#: Answers are never refused for want of room; with so much waiting the engine counts as stuck, and the connection is
#: made anew.
_STUCK_CHARS = 4 * MAX_WAITING_CHARS

#: How long a shutdown waits for the engine to read that the functions are unregistered. An engine that hangs does not
#: hold it up longer.
_DRAIN_TIMEOUT_S = 3.0

#: How long the end waits for log lines and spans to be written.
_LAST_WORDS_S = 1.0


class EngineLink:
    """Everything of a worker that lives on its event loop; all methods belong to the loop's thread."""

    def __init__(
        self,
        address: str,
        introduction: Mapping[str, object],
        *,
        reconnect: ReconnectOptions,
        headers: Mapping[str, str],
        pool: HandlerPool,
        calls: Calls,
        ends: ChannelEnds,
        log: Logger,
        telemetry: WorkerTelemetry,
        state_changed: Callable[[ConnectionState], None],
    ) -> None:
        self._log = log
        self._telemetry = telemetry
        self._state_changed = state_changed
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._ends = ends
        self._pending = Pending()
        self._pending_done = asyncio.Event()
        self._drained = asyncio.Event()
        self._refuse_new_calls = False
        self.session = Session(introduction, now_ms=lambda: time.monotonic() * 1_000, new_id=lambda: str(uuid.uuid4()))
        self.triggers = Triggers(log)
        self.providers = Providers(pool, log, self._answer_binding)
        self.runner = Runner(pool, log, calls, ends, report=self._report)
        self.connection = Connection(address, self, backoff=Backoff(reconnect), log=log, headers=headers)
        telemetry.written_by(self.connection.write_soon)
        self._running = asyncio.ensure_future(self.connection.run())

    # ---- for the connection

    def opened(self) -> None:
        self._act(self.session.opened())

    def received(self, frame: str | bytes) -> None:
        try:
            effects = self.session.receive(frame)
        except Exception as defect:  # noqa: BLE001 - the receive loop must outlive every frame
            self._log.error("a frame could not be handled; this is a defect of the SDK", error=defect)
            return
        self._act(effects)

    def lost(self) -> None:
        self._telemetry.disconnected()
        self._act(self.session.closed())

    def take_frames(self) -> list[str | bytes]:
        # Calls and answers go first.
        return [*self.session.take_frames(), *self._telemetry.take_frames()]

    def state_changed(self, state: ConnectionState) -> None:
        if state == "connected":
            self._log.info("connected to the engine", worker_id=self.session.worker_id)
        if state == "failed":
            self._act(self.session.shut_down())
        self._state_changed(state)

    # ---- for the worker

    def call(self, outgoing: Outgoing, waiter: Waiter) -> int | None:
        """Starts a call; ``waiter`` gets its outcome. Returns the key to withdraw it by."""
        try:
            self._refuse(outgoing)
            key, effects = self.session.call(outgoing)
        except Exception as refusal:  # noqa: BLE001 - handed to whoever waits
            fail(waiter, refusal)
            return None
        self._pending.add(key, waiter)
        self._act(effects)
        return key

    def withdraw(self, key: int) -> None:
        self._act(self.session.withdraw(key))

    def flush(self) -> None:
        """Has frames written that a registration left with the session."""
        self._act([])

    async def shut_down(self, timeout_s: float) -> None:
        """Finishes the calls that the engine has sent, and open channels, then says goodbye. Makes no new calls.

        After ``timeout_s`` the rest fails.
        """
        self._refuse_new_calls = True
        if not self.session.drain():
            self._drained.set()
        self.flush()
        try:
            await asyncio.wait_for(self._quiet(), timeout_s)
        except asyncio.TimeoutError:
            in_hand = {"handlers": self.runner.in_hand, "calls": len(self._pending), "channels": self._ends.in_use}
            self._log.warn("shutting down although not everything is finished", **in_hand, timeout_s=timeout_s)
        self.runner.cancel_all()
        self._ends.close()
        self._act(self.session.shut_down())
        await self._say_last_words()
        await self.connection.stop()
        await asyncio.wait((self._running,), timeout=2)
        if self._timer is not None:
            self._timer.cancel()
        self.triggers.end()
        try:
            await asyncio.wait_for(self.providers.settled(), timeout_s)
        except asyncio.TimeoutError:
            self._log.warn("a trigger's provider did not let go in time", timeout_s=timeout_s)

    # ---- inside

    async def _say_last_words(self) -> None:
        self._telemetry.flush()
        try:
            await asyncio.wait_for(self.connection.flushed(), _LAST_WORDS_S)
        except asyncio.TimeoutError:
            return

    async def _quiet(self) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._drained.wait(), _DRAIN_TIMEOUT_S)
        await self._calls_ended()
        await self._ends.idle()
        await self.connection.flushed()

    async def _calls_ended(self) -> None:
        while self.runner.in_hand or len(self._pending):
            if not self.session.is_open and not self.runner.in_hand:
                return  # what waits for a connection now would wait in vain
            self._pending_done.clear()
            idle = asyncio.ensure_future(self.runner.idle())
            done = asyncio.ensure_future(self._pending_done.wait())
            await asyncio.wait((idle, done) if self.runner.in_hand else (done,), return_when=asyncio.FIRST_COMPLETED)
            idle.cancel()
            done.cancel()

    def _refuse(self, outgoing: Outgoing) -> None:
        function_id = outgoing.function_id
        if self._refuse_new_calls and not (outgoing.within_handler and self.session.is_open):
            message = f"the worker is shutting down and makes no new calls; {function_id} was not called"
            raise CallError("draining", message, {"function_id": function_id})
        if self.connection.state == "failed":
            message = f"{function_id} was not called: gave up connecting to the engine ({self.connection.last_problem})"
            raise CallError("disconnected", message, {"function_id": function_id, "executed": "no"})

    def _report(self, invocation_id: str, outcome: Outcome) -> None:
        if isinstance(outcome, CallError):
            self._act(self.session.fail(invocation_id, outcome))
        else:
            self._act(self.session.answer(invocation_id, outcome))

    def _answer_binding(self, bind: Bind, error: CallError | None) -> None:
        self.session.answer_binding(bind, error)
        self.flush()

    def _act(self, effects: Iterable[Effect]) -> None:
        if self.session.has_frames:
            self.connection.write_soon()
            if self.session.waiting_chars > _STUCK_CHARS:
                self.connection.drop(f"over {_STUCK_CHARS} characters wait and the engine does not read them")
        for effect in effects:
            try:
                self._act_on(effect)
            except Exception as defect:  # noqa: BLE001 - one effect must not keep the others from happening
                self._log.error("an effect could not be carried out; this is a defect of the SDK", error=defect)
        self._arm_timer()

    def _act_on(self, effect: Effect) -> None:
        match effect:
            case CallAnswered() | CallFailed() | CallWritten():
                self._pending.settle(effect)
                self._pending_done.set()
            case Run():
                self.runner.run(effect)
            case Cancel():
                self.runner.cancel(effect)
            case Bind():
                self.providers.bind(effect)
            case Unbind():
                self.providers.unbind(effect)
            case TriggerResult():
                self.triggers.settle(effect)
            case Registered():
                self.connection.confirmed()
                if effect.takes_telemetry:
                    self._telemetry.registered(effect.worker_id)
            case Drained():
                self._drained.set()
            case Notice():
                self._log.log(effect.level, effect.message, **effect.facts)

    def _arm_timer(self) -> None:
        deadline_ms = self.session.next_deadline_ms()
        if deadline_ms is None:
            return
        at = self._loop.time() + deadline_ms / 1_000 - time.monotonic()
        # An armed timer that is earlier finds nothing to do and arms the next; that is cheaper than moving it per call.
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._act(self.session.tick())

"""Connects the session to the socket, the handlers and the pending calls."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence

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
    Draining,
    Effect,
    Notice,
    Registered,
    Run,
    TriggerResult,
    Unbind,
)
from .errors import CallError
from .finished_within import finished_within
from .handler_pool import HandlerPool
from .logger import Logger
from .outbound import MAX_WAITING_CHARS
from .outgoing import Outgoing
from .pending import Pending, Waiter, fail
from .providers import Providers
from .runner import Outcome, Runner
from .session import Session
from .telemetry.worker_telemetry import WorkerTelemetry
from .triggers import Triggers

#: Results are never rejected for lack of buffer space. With this much unsent data the engine is considered stuck, and
#: the worker reconnects.
_STUCK_CHARS = 4 * MAX_WAITING_CHARS

#: Maximum time that a shutdown waits for the engine to process the unregistrations.
_DRAIN_TIMEOUT_S = 3.0

#: Maximum time that a shutdown waits for log lines and spans to be written.
_TELEMETRY_FLUSH_S = 1.0


#: Maximum time for which new calls wait at first for those in flight before this worker leaves an engine; then twice as
#: long each time.
_FIRST_HOLD_S = 0.5

#: Calls wait at most this long, so few deadlines pass and few calls wait at a time.
_MAX_HOLD_S = 2.0

#: How often the deadlines of the calls that wait are looked at.
_LOOK_EVERY_S = 0.01

#: An engine that is cut off from its cluster is left once in this time: the next one may be cut off, too.
_LEAVE_AGAIN_S = 300.0

#: It asks every second. This much later, it asks because it is cut off again.
_PAUSE_S = 10.0


class EngineLink:
    """The parts of a worker that run on its event loop. All methods belong to the loop's thread."""

    def __init__(
        self,
        addresses: Sequence[str],
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
        self._leaving: asyncio.Task[None] | None = None
        self._hold_s = _FIRST_HOLD_S
        # After calls waited in vain, none waits until then, on the monotonic clock: they wait at most half of the time.
        self._hold_again_at = -math.inf
        # When an engine that is cut off is left whatever is in flight, on the monotonic clock.
        self._leave_at = -math.inf
        # When this worker left an engine that was cut off, on the monotonic clock.
        self._left_cut_off_at = -math.inf
        self.session = Session(introduction, now_ms=lambda: time.monotonic() * 1_000, new_id=lambda: str(uuid.uuid4()))
        self.triggers = Triggers(log)
        self.providers = Providers(pool, log, self._answer_binding)
        self.runner = Runner(pool, log, calls, ends, report=self._report)
        self.connection = Connection(addresses, self, backoff=Backoff(reconnect), log=log, headers=headers)
        telemetry.written_by(self.connection.write_soon)
        self._running = asyncio.ensure_future(self.connection.run())

    # ---- for the connection

    def opened(self) -> None:
        self._act(self.session.opened())

    def received(self, frame: str | bytes) -> None:
        try:
            effects = self.session.receive(frame)
        except Exception as defect:  # noqa: BLE001 - no frame may end the receive loop
            self._log.error("failed to handle a frame; this is a bug in the SDK", error=defect)
            return
        self._act(effects)

    def lost(self) -> None:
        self._telemetry.disconnected()
        self._act(self.session.closed())

    def take_frames(self) -> list[str | bytes]:
        # Calls and results come before telemetry.
        return [*self.session.take_frames(), *self._telemetry.take_frames()]

    def state_changed(self, state: ConnectionState) -> None:
        if state == "connected":
            self._log.info("connected to the engine", worker_id=self.session.worker_id)
        if state == "failed":
            self._act(self.session.shut_down())
        self._state_changed(state)

    # ---- for the worker

    def call(self, outgoing: Outgoing, waiter: Waiter) -> int | None:
        """Starts a call and passes its outcome to ``waiter``. Returns the key for ``withdraw``."""
        try:
            self._refuse(outgoing)
            key, effects = self.session.call(outgoing)
        except Exception as refusal:  # noqa: BLE001 - passed to the waiter
            fail(waiter, refusal)
            return None
        self._pending.add(key, waiter)
        self._act(effects)
        return key

    def withdraw(self, key: int) -> None:
        self._act(self.session.withdraw(key))

    def flush(self) -> None:
        """Writes the frames of a registration."""
        self._act([])

    async def shut_down(self, timeout_s: float) -> None:
        """Finishes running calls and open channels, then disconnects. Rejects new calls.

        Calls and channels that are unfinished after ``timeout_s`` fail.
        """
        self._refuse_new_calls = True
        if self._leaving is not None:
            self._leaving.cancel()
            # The calls of running handlers must not wait for a next engine.
            self._act(self.session.release())
        if not self.session.drain():
            self._drained.set()
        self.flush()
        if not await finished_within(self._all_finished(), timeout_s):
            open_work = {"handlers": self.runner.running, "calls": len(self._pending), "channels": self._ends.in_use}
            self._log.warn("shutting down with unfinished work", **open_work, timeout_s=timeout_s)
        self.runner.cancel_all()
        self._ends.close()
        self._act(self.session.shut_down())
        await self._flush_telemetry()
        await self.connection.stop()
        await asyncio.wait((self._running,), timeout=2)
        if self._timer is not None:
            self._timer.cancel()
        self.triggers.end()
        if not await finished_within(self.providers.settled(), timeout_s):
            self._log.warn("a trigger's provider did not unbind in time", timeout_s=timeout_s)

    # ---- inside

    async def _flush_telemetry(self) -> None:
        self._telemetry.flush()
        await finished_within(self.connection.flushed(), _TELEMETRY_FLUSH_S)

    async def _all_finished(self) -> None:
        await finished_within(self._drained.wait(), _DRAIN_TIMEOUT_S)
        await self._calls_ended()
        await self._ends.idle()
        await self.connection.flushed()

    async def _calls_ended(self) -> None:
        while self.runner.running or len(self._pending):
            if not self.session.is_open and not self.runner.running:
                return  # no connection will be opened any more, so calls that wait for one never finish
            self._pending_done.clear()
            idle = asyncio.ensure_future(self.runner.idle())
            done = asyncio.ensure_future(self._pending_done.wait())
            await asyncio.wait((idle, done) if self.runner.running else (done,), return_when=asyncio.FIRST_COMPLETED)
            idle.cancel()
            done.cancel()

    async def _leave(self, within_ms: int | None) -> None:
        """Goes on at the next engine when nothing is in flight here.

        An engine that is cut off is left after ``within_ms`` in any case. An engine that is drained gives this worker
        no new calls. Both ask again until it has left.
        """
        if self._refuse_new_calls or not self.connection.knows_others:
            return
        now, left_s = time.monotonic(), math.inf
        if within_ms is not None:
            if now - self._left_cut_off_at < _LEAVE_AGAIN_S:
                return
            if now - self._leave_at > _PAUSE_S:
                self._leave_at = now + within_ms / 1_000
            left_s = max(0.0, self._leave_at - now)
        # Running handlers may need calls of their own.
        if left_s > 0 and (now < self._hold_again_at or self.runner.running):
            return
        hold_s = min(self._hold_s, left_s)
        self.session.hold()
        await self._hold(hold_s)
        if not self.session.is_holding:
            return  # the connection was lost meanwhile
        is_due = within_ms is not None and time.monotonic() >= self._leave_at
        if self._is_busy() and not is_due:
            self._hold_s = min(2 * self._hold_s, _MAX_HOLD_S)
            self._hold_again_at = time.monotonic() + hold_s
            self._act(self.session.release())
            return
        if within_ms is not None:
            self._left_cut_off_at = now
        self._hold_s = _FIRST_HOLD_S
        await self.connection.leave("the engine is drained, or cut off from its cluster")

    async def _hold(self, hold_s: float) -> None:
        """Waits until nothing is in flight, at most this long, and at most for half of the time that a call has."""
        ends_at = self._loop.time() + hold_s
        while self.session.is_holding:
            now, deadline_ms = self._loop.time(), self.session.next_deadline_ms()
            left_s = 0.0 if deadline_ms is None else deadline_ms / 1_000 - time.monotonic()
            if left_s > 0:
                ends_at = min(ends_at, now + left_s / 2)
            if now >= ends_at or await finished_within(self._idle(), min(_LOOK_EVERY_S, ends_at - now)):
                return

    def _is_busy(self) -> bool:
        return self.session.sent_calls > 0 or self.runner.running > 0

    async def _idle(self) -> None:
        while self._is_busy():
            await self.runner.idle()
            if self.session.sent_calls > 0:
                self._pending_done.clear()
                await self._pending_done.wait()

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
                self.connection.drop(f"over {_STUCK_CHARS} characters are unsent: the engine does not read")
        for effect in effects:
            try:
                self._act_on(effect)
            except Exception as defect:  # noqa: BLE001 - one effect must not prevent the others
                self._log.error("failed to run an effect; this is a bug in the SDK", error=defect)
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
            case Draining(within_ms):
                if self._leaving is None or self._leaving.done():
                    self._leaving = asyncio.ensure_future(self._leave(within_ms))
            case Notice():
                self._log.log(effect.level, effect.message, **effect.facts)

    def _arm_timer(self) -> None:
        deadline_ms = self.session.next_deadline_ms()
        if deadline_ms is None:
            return
        at = self._loop.time() + deadline_ms / 1_000 - time.monotonic()
        # An earlier timer may find nothing to do and then starts the next. That is cheaper than a new timer per call.
        if self._timer is not None and not self._timer.cancelled() and self._timer.when() <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._act(self.session.tick())

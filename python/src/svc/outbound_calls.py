"""Calls that this worker makes: from the request to the result, the deadline or the end of the connection. No I/O."""

from __future__ import annotations

from collections.abc import Callable

from .codec import checked_name
from .effects import CallAnswered, CallFailed, CallWritten, Effect
from .errors import CallError
from .inbound import Answer
from .open_calls import OpenCall, OpenCalls
from .outbound import MAX_WAITING_CHARS, Outbound
from .outgoing import Outgoing, call_frame, checked_timeout_ms
from .protocol import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS

#: Maximum number of calls that wait for the socket.
MAX_QUEUED_CALLS = 1_000
#: Error details of a call that was not sent.
_NEVER_SENT: dict[str, object] = {"executed": "no"}


class OutboundCalls:
    def __init__(self, outbound: Outbound, *, now_ms: Callable[[], float], new_id: Callable[[], str]) -> None:
        self._outbound = outbound
        self._now_ms = now_ms
        self._new_id = new_id
        self._calls = OpenCalls()
        self._last_key = 0
        self._engine_enforces_deadlines = False
        self.is_holding = False

    @property
    def sent(self) -> int:
        return len(self._calls) - self._calls.queued

    @property
    def _may_send(self) -> bool:
        return self._outbound.is_open and not self.is_holding

    def hold(self) -> None:
        self.is_holding = self._outbound.is_open

    def call(self, outgoing: Outgoing) -> tuple[int, list[Effect]]:
        checked_name(outgoing.function_id, "function_id")
        has_own_deadline = outgoing.timeout_ms is not None
        timeout_ms = DEFAULT_TIMEOUT_MS if outgoing.timeout_ms is None else checked_timeout_ms(outgoing.timeout_ms)
        invocation_id = None if outgoing.mode == "void" else self._new_id()
        frame = call_frame(outgoing, invocation_id)
        self._refuse_overflow(outgoing.function_id, frame)
        self._last_key += 1
        call = OpenCall(
            key=self._last_key,
            invocation_id=invocation_id,
            function_id=outgoing.function_id,
            timeout_ms=timeout_ms,
            deadline_ms=self._now_ms() + timeout_ms,
            has_own_deadline=has_own_deadline,
            within_handler=outgoing.within_handler,
            queued_frame=None if self._may_send else frame,
        )
        self._calls.add(call)
        if not self._may_send:
            return call.key, []
        self._outbound.push(frame)
        return call.key, self._sent(call)

    def registered(self, *, enforces_deadlines: bool) -> None:
        """The engine registered the worker. Engines of svc end every call at its deadline."""
        self._engine_enforces_deadlines = enforces_deadlines
        for call in self._calls:
            if call.queued_frame is None:
                self._leave_deadline_to_engine(call)

    def withdraw(self, key: int) -> list[Effect]:
        open_call = self._calls.get(key)
        if open_call is None:
            return []
        was_sent = open_call.queued_frame is None
        self._calls.take(key)
        if was_sent:
            self._send_cancel(open_call, "cancelled")
        message = f"the call of {open_call.function_id} was cancelled by its caller"
        details: dict[str, object] = {"function_id": open_call.function_id}
        return [
            CallFailed(key, CallError("call_cancelled", message, details if was_sent else {**details, **_NEVER_SENT}))
        ]

    def send_queued(self) -> list[Effect]:
        """The socket opened: sends the calls that waited for it, except those whose deadline has passed."""
        self.is_holding = False
        effects = self.tick()
        for call, frame in self._calls.take_queued():
            self._outbound.push(frame)
            effects.extend(self._sent(call))
        return effects

    def connection_ended(self) -> list[Effect]:
        """Fails the calls that were sent. Calls that wait for the socket keep waiting."""
        self.is_holding = False
        self._engine_enforces_deadlines = False
        return [
            _failed(call, f"the connection ended before {call.function_id} answered; it may have run")
            for call in self._calls.take_sent()
        ]

    def fail_all(self) -> list[Effect]:
        effects: list[Effect] = []
        for call in self._calls:
            self._calls.take(call.key)
            effects.append(_failed(call, f"the worker was shut down before {call.function_id} answered"))
        return effects

    def tick(self) -> list[Effect]:
        """Fails calls whose deadline has passed, and cancels the sent ones at the engine."""
        effects: list[Effect] = []
        for call in self._calls.expired(self._now_ms()):
            was_sent = call.queued_frame is None
            self._calls.take(call.key)
            if was_sent:
                self._send_cancel(call, "timeout")
            message = f"Function {call.function_id} did not answer within {call.timeout_ms} ms"
            if not was_sent:
                message += ": there was no connection to the engine, the call was not sent"
            details: dict[str, object] = {"function_id": call.function_id, "timeout_ms": call.timeout_ms}
            if not was_sent:
                details.update(_NEVER_SENT)
            effects.append(CallFailed(call.key, CallError("call_timeout", message, details)))
        return effects

    def next_deadline_ms(self) -> float | None:
        return self._calls.next_deadline_ms()

    def is_within_handler(self, invocation_id: str) -> bool:
        return self._calls.is_within_handler(invocation_id)

    def answered(self, answer: Answer) -> list[Effect]:
        call = self._calls.take_invocation(answer.invocation_id)
        if call is None:
            return []
        if answer.error is not None:
            return [CallFailed(call.key, answer.error)]
        return [CallAnswered(call.key, answer.result)]

    def answered_badly(self, invocation_id: str, error: CallError) -> list[Effect]:
        call = self._calls.take_invocation(invocation_id)
        return [] if call is None else [CallFailed(call.key, error)]

    def _sent(self, call: OpenCall) -> list[Effect]:
        if call.invocation_id is not None:
            self._leave_deadline_to_engine(call)
            return []
        self._calls.take(call.key)
        return [CallWritten(call.key)]

    def _leave_deadline_to_engine(self, call: OpenCall) -> None:
        # The function's own deadline may be later than the default.
        if self._engine_enforces_deadlines and not call.has_own_deadline and call.timeout_ms < MAX_TIMEOUT_MS:
            self._calls.defer(call, MAX_TIMEOUT_MS)

    def _refuse_overflow(self, function_id: str, frame: str) -> None:
        may_send = self._may_send
        details: dict[str, object] = {"function_id": function_id, **_NEVER_SENT}
        if not may_send and self._calls.queued >= MAX_QUEUED_CALLS:
            message = f"{MAX_QUEUED_CALLS} calls already wait to be sent; {function_id} was not called"
            raise CallError("disconnected", message, {**details, "max_queued_calls": MAX_QUEUED_CALLS})
        waiting = self._outbound.chars if may_send else self._calls.queued_chars
        if waiting > 0 and waiting + len(frame) > MAX_WAITING_CHARS:
            message = f"{waiting} characters to the engine are already unsent; {function_id} was not called"
            raise CallError("overloaded", message, {**details, "max_waiting_chars": MAX_WAITING_CHARS})

    def _send_cancel(self, call: OpenCall, reason: str) -> None:
        if call.invocation_id is not None and self._outbound.is_open:
            self._outbound.send({"type": "cancelinvocation", "invocation_id": call.invocation_id, "reason": reason})


def _failed(call: OpenCall, message: str) -> CallFailed:
    details: dict[str, object] = {"function_id": call.function_id}
    if call.queued_frame is not None:
        details.update(_NEVER_SENT)
    return CallFailed(call.key, CallError("disconnected", message, details))

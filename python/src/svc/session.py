"""What a worker says and hears. Does no I/O: feed it frames, write what it hands back, act on its effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .calls import OpenCall, OpenCalls
from .codec import checked_name, encode_frame, encode_json
from .effects import Bind, CallAnswered, CallFailed, CallWritten, Cancel, Effect, Notice, Registered, Run, TriggerResult
from .errors import CallError
from .inbound import (
    Answer,
    BadFrame,
    BindRequest,
    BindResult,
    CancelRequest,
    EngineError,
    Ignored,
    Inbound,
    Invocation,
    Ping,
    UnbindRequest,
    Welcome,
    read_frame,
)
from .outgoing import Outgoing, call_frame, checked_timeout_ms
from .protocol import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS
from .registrations import Registrations

#: Calls that may wait for the socket.
MAX_QUEUED_CALLS = 1_000
#: Characters that may wait to be written: while the socket is closed, and while the engine reads slowly.
MAX_WAITING_CHARS = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Running:
    invocation_id: str
    function_id: str
    wants_answer: bool


class Session:
    """One worker's side of the protocol, over any number of connections.

    Every method that hears something returns effects, in order; frames to write are taken with ``take_frames``.

    Args:
        introduction: Payload of the register call, sent on every open.
        now_ms: Monotonic clock in milliseconds.
        new_id: Makes UUIDs for calls and triggers.
    """

    def __init__(
        self, introduction: Mapping[str, object], *, now_ms: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._introduction = encode_json(dict(introduction), "the worker's introduction")
        self._now_ms = now_ms
        self._new_id = new_id
        self._open = False
        self._draining = False
        self._worker_id: str | None = None
        self._reattach_token: str | None = None
        self._engine_keeps_deadlines = False
        self._outbound: list[str] = []
        self._outbound_chars = 0
        self._registrations = Registrations()
        self._calls = OpenCalls()
        self._running: dict[str, _Running] = {}
        #: Runs that go on although nobody waits for them, and why; until they answer.
        self._abandoned: dict[str, str] = {}
        self._last_key = 0
        self._actions: dict[type[Inbound], Callable[[Any], list[Effect]]] = {
            Invocation: self._on_invocation,
            Answer: self._on_answer,
            CancelRequest: self._on_cancel,
            Welcome: self._on_welcome,
            BindRequest: self._on_bind,
            UnbindRequest: self._on_unbind,
            BindResult: self._on_bind_result,
            EngineError: self._on_error,
            BadFrame: self._on_bad_frame,
            Ping: self._on_ping,
            Ignored: self._on_ignored,
        }

    # ---- the connection

    @property
    def worker_id(self) -> str | None:
        """Id that the engine gave to the newest connection; None before the first."""
        return self._worker_id

    @property
    def is_open(self) -> bool:
        return self._open

    @property
    def waiting_chars(self) -> int:
        """Size of what waits to be written to the open socket."""
        return self._outbound_chars

    @property
    def has_frames(self) -> bool:
        return bool(self._outbound)

    def opened(self) -> list[Effect]:
        """The socket opened: introduces the worker, replays every registration, then sends the calls that waited."""
        self._open = True
        if self._worker_id is not None and self._reattach_token is not None:
            token = self._reattach_token
            self._send({"type": "reattach", "previous_worker_id": self._worker_id, "reattach_token": token})
        register = {"type": "invokefunction", "function_id": "engine::workers::register", "action": {"type": "void"}}
        self._push(encode_frame(register, ("data", self._introduction)))
        if not self._draining:
            for frame in self._registrations.replay():
                self._push(frame)
        effects = self.tick()
        for call, frame in self._calls.take_queued():
            self._push(frame)
            effects.extend(self._handed_over(call))
        return effects

    def closed(self) -> list[Effect]:
        """The socket closed: calls that were sent fail, calls that wait for the socket go on waiting."""
        self._open = False
        self._outbound.clear()
        self._outbound_chars = 0
        effects: list[Effect] = []
        for call in self._calls.take_sent():
            effects.append(_failed(call, f"the connection ended before {call.function_id} answered; it may have run"))
        for running in list(self._running.values()):
            effects.append(self._abandon(running, "disconnected"))
        effects.extend(self._registrations.release_all())
        return effects

    def drain(self) -> None:
        """Takes no new calls: has the engine send them elsewhere, and refuses those already on their way."""
        if self._draining:
            return
        self._draining = True
        if self._open:
            for function_id in self._registrations.functions():
                self._send({"type": "unregisterfunction", "id": function_id})

    def shut_down(self) -> list[Effect]:
        """The end: nothing waits any more. Calls without an answer fail with ``disconnected``."""
        effects: list[Effect] = []
        for call in self._calls:
            self._calls.take(call.key)
            effects.append(_failed(call, f"the worker was shut down before {call.function_id} answered"))
        effects.extend(self.closed())
        return effects

    def take_frames(self) -> list[str]:
        frames, self._outbound, self._outbound_chars = self._outbound, [], 0
        return frames

    def tick(self) -> list[Effect]:
        """Fails calls whose deadline passed, and has the engine cancel those that it knows of."""
        effects: list[Effect] = []
        for call in self._calls.expired(self._now_ms()):
            was_sent = call.queued_frame is None
            self._calls.take(call.key)
            if was_sent:
                self._send_cancel(call, "timeout")
            message = f"Function {call.function_id} did not answer within {call.timeout_ms} ms"
            if not was_sent:
                message += ": there was no connection to the engine, the call was not sent"
            details = {"function_id": call.function_id, "timeout_ms": call.timeout_ms}
            effects.append(CallFailed(call.key, CallError("call_timeout", message, details)))
        return effects

    def next_deadline_ms(self) -> float | None:
        """When ``tick`` has something to do next, on the clock of ``now_ms``."""
        return self._calls.next_deadline_ms()

    # ---- registrations

    def register_function(self, function_id: str, **options: object) -> None:
        self._announce(self._registrations.add_function(function_id, options))

    def unregister_function(self, function_id: str) -> None:
        self._announce(self._registrations.remove_function(function_id))

    def register_trigger_type(self, type_id: str, description: str, **options: object) -> None:
        self._announce(self._registrations.add_trigger_type(type_id, description, options))

    def unregister_trigger_type(self, type_id: str) -> None:
        self._announce(self._registrations.remove_trigger_type(type_id))

    def register_trigger(self, trigger_type: str, function_id: str, config: object, metadata: object = None) -> str:
        """Asks the engine to bind the function; returns the trigger's id, which stays the same over reconnects."""
        trigger_id = self._new_id()
        frame = self._registrations.add_trigger(trigger_id, trigger_type, function_id, config, metadata)
        self._announce(frame)
        return trigger_id

    def unregister_trigger(self, trigger_id: str) -> None:
        self._announce(self._registrations.remove_trigger(trigger_id))

    def answer_binding(self, bind: Bind, error: CallError | None = None) -> None:
        """The provider of a trigger type bound what a ``Bind`` effect asked for, or could not."""
        if not self._registrations.holds(bind):
            return
        if error is not None:
            self._registrations.release(bind.id)
        self._send_binding_answer(bind, error)

    # ---- calls of this worker

    def call(self, outgoing: Outgoing) -> tuple[int, list[Effect]]:
        """Sends a call, or lets it wait for the socket. Returns the key by which effects speak of it.

        Raises:
            CallError: ``invalid_name``, ``invalid_input`` (the deadline), ``payload_too_large``, ``overloaded``.
        """
        checked_name(outgoing.function_id, "function_id")
        # An engine of svc answers at the deadline, and the function may have named a later one of its own.
        fallback_ms = MAX_TIMEOUT_MS if self._engine_keeps_deadlines else DEFAULT_TIMEOUT_MS
        timeout_ms = fallback_ms if outgoing.timeout_ms is None else checked_timeout_ms(outgoing.timeout_ms)
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
            within_handler=outgoing.within_handler,
            queued_frame=None if self._open else frame,
        )
        self._calls.add(call)
        if not self._open:
            return call.key, []
        self._push(frame)
        return call.key, self._handed_over(call)

    def withdraw(self, key: int) -> list[Effect]:
        """The caller does not want the answer any more."""
        open_call = self._calls.get(key)
        if open_call is None:
            return []
        was_sent = open_call.queued_frame is None
        self._calls.take(key)
        if was_sent:
            self._send_cancel(open_call, "cancelled")
        message = f"the call of {open_call.function_id} was withdrawn by its caller"
        return [CallFailed(key, CallError("call_cancelled", message, {"function_id": open_call.function_id}))]

    # ---- calls of this worker's functions

    def answer(self, invocation_id: str, result: str | None) -> list[Effect]:
        """A handler returned. ``result`` is JSON text, None when it returned nothing."""
        running = self._running.get(invocation_id)
        if running is None:
            return self._late(invocation_id)
        members = {"type": "invocationresult", "invocation_id": invocation_id, "function_id": running.function_id}
        try:
            frame = encode_frame(members, None if result is None else ("result", result))
        except CallError as too_large:
            return self.fail(invocation_id, too_large)
        del self._running[invocation_id]
        if running.wants_answer:
            self._push(frame)
        return []

    def fail(self, invocation_id: str, error: CallError) -> list[Effect]:
        """A handler failed."""
        running = self._running.pop(invocation_id, None)
        if running is None:
            return self._late(invocation_id)
        return self._send_error(invocation_id, running.function_id, error) if running.wants_answer else []

    # ---- frames of the engine

    def receive(self, frame: str | bytes) -> list[Effect]:
        """One frame arrived. Never raises, whatever it holds."""
        message = read_frame(frame)
        return self._actions[type(message)](message)

    def _on_invocation(self, call: Invocation) -> list[Effect]:
        refusal: CallError | None = None
        if not self._registrations.has_function(call.function_id):
            refusal = CallError("function_not_found", f"Function {call.function_id} not found")
        elif self._draining:
            refusal = CallError("draining", "the worker is shutting down and takes no new calls")
        if refusal is not None:
            return [] if call.invocation_id is None else self._send_error(call.invocation_id, call.function_id, refusal)
        # Only an engine that wants no answer leaves the id out; the handler's bookkeeping needs one all the same.
        invocation_id = call.invocation_id or self._new_id()
        if invocation_id in self._running or invocation_id in self._abandoned:
            return [Notice("warn", "a call came twice and is run once", {"invocation_id": invocation_id})]
        self._running[invocation_id] = _Running(invocation_id, call.function_id, call.invocation_id is not None)
        return [
            Run(
                invocation_id,
                call.function_id,
                call.payload,
                call.metadata,
                call.caller,
                call.job,
                call.traceparent,
                call.baggage,
                # The engine hands a caller's id on, so a call of this worker to itself is known by it.
                self._calls.is_within_handler(invocation_id),
                call.may_name_channels,
            )
        ]

    def _on_answer(self, answer: Answer) -> list[Effect]:
        call = self._calls.take_invocation(answer.invocation_id)
        if call is None:
            return []
        if answer.error is not None:
            return [CallFailed(call.key, answer.error)]
        return [CallAnswered(call.key, answer.result)]

    def _on_cancel(self, request: CancelRequest) -> list[Effect]:
        running = self._running.get(request.invocation_id)
        return [] if running is None else [self._abandon(running, request.reason)]

    def _on_welcome(self, welcome: Welcome) -> list[Effect]:
        self._worker_id, self._reattach_token = welcome.worker_id, welcome.reattach_token
        self._engine_keeps_deadlines = welcome.keeps_deadlines
        return [Registered(welcome.worker_id)]

    def _on_bind(self, request: BindRequest) -> list[Effect]:
        bind = request.bind
        if not self._registrations.has_trigger_type(bind.trigger_type):
            message = f"Trigger type {bind.trigger_type} not found"
            self._send_binding_answer(bind, CallError("trigger_type_not_found", message))
            return []
        # The same trigger again replaces what is bound.
        replaced = self._registrations.release(bind.id)
        self._registrations.hold(bind)
        return [bind] if replaced is None else [replaced, bind]

    def _on_unbind(self, request: UnbindRequest) -> list[Effect]:
        unbind = self._registrations.release(request.id)
        return [] if unbind is None else [unbind]

    def _on_bind_result(self, result: BindResult) -> list[Effect]:
        if not self._registrations.has_trigger(result.id):
            return []
        return [TriggerResult(result.id, result.status, result.reason, result.error)]

    def _on_error(self, message: EngineError) -> list[Effect]:
        error, trigger_id = message.error, message.id
        if message.message_type == "registertrigger" and trigger_id is not None:
            if self._registrations.has_trigger(trigger_id):
                return [TriggerResult(trigger_id, "error", error.message, error)]
            return []
        facts: dict[str, object] = {"code": error.code, "error": error.message, "details": error.details}
        return [Notice("error", "the engine refused something that this worker sent", facts)]

    def _on_bad_frame(self, frame: BadFrame) -> list[Effect]:
        facts: dict[str, object] = {"problem": frame.problem, "invocation_id": frame.invocation_id}
        effects: list[Effect] = [Notice("warn", "a frame of the engine could not be read", facts)]
        if frame.invocation_id is None:
            return effects
        error = CallError("invalid_message", frame.problem)
        if frame.type == "invokefunction":
            return effects + self._send_error(frame.invocation_id, frame.function_id, error)
        call = self._calls.take_invocation(frame.invocation_id) if frame.type == "invocationresult" else None
        return effects if call is None else [*effects, CallFailed(call.key, error)]

    def _on_ping(self, _: Ping) -> list[Effect]:
        self._send({"type": "pong"})
        return []

    def _on_ignored(self, _: Ignored) -> list[Effect]:
        return []

    # ---- small parts

    def _handed_over(self, call: OpenCall) -> list[Effect]:
        if call.invocation_id is not None:
            return []
        self._calls.take(call.key)
        return [CallWritten(call.key)]

    def _refuse_overflow(self, function_id: str, frame: str) -> None:
        details: dict[str, object] = {"function_id": function_id, "sent": False}
        if not self._open and self._calls.queued >= MAX_QUEUED_CALLS:
            message = f"not connected, and {MAX_QUEUED_CALLS} calls wait for it already; {function_id} was not called"
            raise CallError("disconnected", message, {**details, "max_queued_calls": MAX_QUEUED_CALLS})
        waiting = self._outbound_chars if self._open else self._calls.queued_chars
        if waiting > 0 and waiting + len(frame) > MAX_WAITING_CHARS:
            message = f"{waiting} characters wait to be written to the engine already; {function_id} was not called"
            raise CallError("overloaded", message, {**details, "max_waiting_chars": MAX_WAITING_CHARS})

    def _abandon(self, running: _Running, reason: str) -> Cancel:
        del self._running[running.invocation_id]
        self._abandoned[running.invocation_id] = reason
        return Cancel(running.invocation_id, reason)

    def _late(self, invocation_id: str) -> list[Effect]:
        reason = self._abandoned.pop(invocation_id, None)
        if reason is None:
            return []
        level: Literal["debug", "warn"] = "warn" if reason == "disconnected" else "debug"
        facts: dict[str, object] = {"invocation_id": invocation_id, "reason": reason}
        return [Notice(level, "a result was dropped: nobody waits for it any more", facts)]

    def _send_cancel(self, call: OpenCall, reason: str) -> None:
        if call.invocation_id is not None and self._open:
            self._send({"type": "cancelinvocation", "invocation_id": call.invocation_id, "reason": reason})

    def _send_error(self, invocation_id: str, function_id: str, error: CallError) -> list[Effect]:
        members = {"type": "invocationresult", "invocation_id": invocation_id, "function_id": function_id}
        try:
            self._push(encode_frame({**members, "error": error.to_wire()}))
        except CallError as unwritable:
            bare = CallError(error.code, error.message, stacktrace=error.stacktrace)
            self._push(encode_frame({**members, "error": bare.to_wire()}))
            facts: dict[str, object] = {"function_id": function_id, "code": error.code, "error": unwritable.message}
            return [Notice("warn", "the details of an error were left out: they cannot be sent", facts)]
        return []

    def _send_binding_answer(self, bind: Bind, error: CallError | None) -> None:
        members: dict[str, object] = {"type": "triggerregistrationresult", "id": bind.id}
        members |= {"trigger_type": bind.trigger_type, "function_id": bind.function_id}
        if error is not None:
            members["error"] = error.to_wire()
        try:
            self._send(members)
        except CallError:  # details that JSON cannot hold
            self._send({**members, "error": CallError("trigger_registration_failed", str(error)).to_wire()})

    def _announce(self, frame: str | None) -> None:
        if frame is not None and self._open:
            self._push(frame)

    def _send(self, members: Mapping[str, object]) -> None:
        self._push(encode_frame(members))

    def _push(self, frame: str) -> None:
        self._outbound.append(frame)
        self._outbound_chars += len(frame)


def _failed(call: OpenCall, message: str) -> CallFailed:
    return CallFailed(call.key, CallError("disconnected", message, {"function_id": call.function_id}))

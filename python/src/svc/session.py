"""The worker's protocol state. Does no I/O: pass it frames, write the frames it returns, run its effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .codec import encode_frame, encode_json
from .effects import Bind, Cancel, Drained, Draining, Effect, Notice, Registered, TriggerResult
from .errors import CallError
from .inbound import (
    Answer,
    BadFrame,
    EngineError,
    Ignored,
    Inbound,
    Invocation,
    Ping,
    Pong,
    UnbindRequest,
    Welcome,
    read_frame,
)
from .inbound_calls import InboundCalls
from .outbound import Outbound
from .outbound_calls import OutboundCalls
from .outgoing import Outgoing
from .registrations import Registrations


class Session:
    """One worker's side of the protocol, over any number of connections.

    Every method that handles an event returns effects, in order. ``take_frames`` returns the frames to write.

    Args:
        introduction: Payload of the register call, sent on every connection.
        now_ms: Monotonic clock in milliseconds.
        new_id: Generates UUIDs for calls and triggers.
    """

    def __init__(
        self, introduction: Mapping[str, object], *, now_ms: Callable[[], float], new_id: Callable[[], str]
    ) -> None:
        self._introduction = encode_json(dict(introduction), "the worker's introduction")
        self._new_id = new_id
        self._draining = False
        self._awaits_pong = False
        self._worker_id: str | None = None
        self._reattach_token: str | None = None
        self._outbound = Outbound()
        self._registrations = Registrations()
        self._outbound_calls = OutboundCalls(self._outbound, now_ms=now_ms, new_id=new_id)
        self._inbound_calls = InboundCalls(
            self._outbound, new_id=new_id, is_within_handler=self._outbound_calls.is_within_handler
        )
        self._actions: dict[type[Inbound], Callable[[Any], list[Effect]]] = {
            Invocation: self._on_invocation,
            Answer: self._outbound_calls.answered,
            Cancel: self._inbound_calls.cancelled,
            Welcome: self._on_welcome,
            Bind: self._on_bind,
            UnbindRequest: self._on_unbind,
            TriggerResult: self._on_trigger_result,
            EngineError: self._on_error,
            Draining: lambda message: [message],
            BadFrame: self._on_bad_frame,
            Ping: self._on_ping,
            Pong: self._on_pong,
            Ignored: self._on_ignored,
        }

    # ---- the connection

    @property
    def worker_id(self) -> str | None:
        """Id that the engine assigned to the latest connection; None before the first."""
        return self._worker_id

    @property
    def is_open(self) -> bool:
        return self._outbound.is_open

    @property
    def waiting_chars(self) -> int:
        """Number of unsent characters of the open socket."""
        return self._outbound.chars

    @property
    def has_frames(self) -> bool:
        return self._outbound.has_frames

    def opened(self) -> list[Effect]:
        """The socket opened: registers the worker, replays every registration, then sends the waiting calls."""
        self._outbound.open()
        if self._worker_id is not None and self._reattach_token is not None:
            token = self._reattach_token
            self._outbound.send({"type": "reattach", "previous_worker_id": self._worker_id, "reattach_token": token})
        register = {"type": "invokefunction", "function_id": "engine::workers::register", "action": {"type": "void"}}
        self._outbound.push(encode_frame(register, ("data", self._introduction)))
        if not self._draining:
            for frame in self._registrations.replay():
                self._outbound.push(frame)
        return self._outbound_calls.send_queued()

    def closed(self) -> list[Effect]:
        """The socket closed: fails the calls that were sent. Calls that wait for the socket keep waiting."""
        self._outbound.close()
        return [
            *self._outbound_calls.connection_ended(),
            *self._inbound_calls.connection_ended(),
            *self._registrations.release_all(),
            *self._drained(),
        ]

    def drain(self) -> bool:
        """Unregisters the functions, so that the engine sends no more calls.

        Calls that the engine sent earlier still run. Then a ``Drained`` effect follows: when the engine's pong arrives,
        since it handles frames in order. Returns False if no ``Drained`` effect will follow.
        """
        function_ids = [] if self._draining or not self._outbound.is_open else list(self._registrations.functions())
        self._draining = True
        for function_id in function_ids:
            self._outbound.send({"type": "unregisterfunction", "id": function_id})
        if function_ids:
            self._awaits_pong = True
            self._outbound.send({"type": "ping"})
        return self._awaits_pong

    def shut_down(self) -> list[Effect]:
        """Fails all pending calls with ``disconnected``."""
        return [*self._outbound_calls.fail_all(), *self.closed()]

    def take_frames(self) -> list[str]:
        return self._outbound.take()

    def tick(self) -> list[Effect]:
        """Fails calls whose deadline has passed, and cancels the sent ones at the engine."""
        return self._outbound_calls.tick()

    def next_deadline_ms(self) -> float | None:
        """Time at which ``tick`` must be called next, on the clock of ``now_ms``."""
        return self._outbound_calls.next_deadline_ms()

    # ---- registrations

    def register_function(self, function_id: str, **options: object) -> None:
        self._outbound.announce(self._registrations.add_function(function_id, options))

    def unregister_function(self, function_id: str) -> None:
        self._outbound.announce(self._registrations.remove_function(function_id))

    def register_trigger_type(self, type_id: str, description: str, **options: object) -> None:
        self._outbound.announce(self._registrations.add_trigger_type(type_id, description, options))

    def unregister_trigger_type(self, type_id: str) -> None:
        self._outbound.announce(self._registrations.remove_trigger_type(type_id))

    def register_trigger(self, trigger_type: str, function_id: str, config: object, metadata: object = None) -> str:
        """Registers a trigger. Returns its id, which stays the same across reconnects."""
        trigger_id = self._new_id()
        frame = self._registrations.add_trigger(trigger_id, trigger_type, function_id, config, metadata)
        self._outbound.announce(frame)
        return trigger_id

    def unregister_trigger(self, trigger_id: str) -> None:
        self._outbound.announce(self._registrations.remove_trigger(trigger_id))

    def answer_binding(self, bind: Bind, error: CallError | None = None) -> None:
        """Reports the result of a ``Bind`` effect to the engine. ``error``: why binding failed."""
        if not self._registrations.holds(bind):
            return
        if error is not None:
            self._registrations.release(bind.id)
        self._outbound.send_binding_answer(bind, error)

    # ---- calls of this worker

    def call(self, outgoing: Outgoing) -> tuple[int, list[Effect]]:
        """Sends a call, or queues it until the socket opens. Returns its key in effects.

        Raises:
            CallError: ``invalid_name``, ``invalid_input`` (the deadline), ``payload_too_large``, ``overloaded``.
        """
        return self._outbound_calls.call(outgoing)

    def withdraw(self, key: int) -> list[Effect]:
        """Cancels a call."""
        return self._outbound_calls.withdraw(key)

    @property
    def sent_calls(self) -> int:
        """Number of calls that were sent and have no result yet."""
        return self._outbound_calls.sent

    @property
    def is_holding(self) -> bool:
        """Whether new calls wait although the socket is open."""
        return self._outbound_calls.is_holding

    def hold(self) -> None:
        """Lets new calls wait for the next connection, or for ``release``."""
        self._outbound_calls.hold()

    def release(self) -> list[Effect]:
        """Sends the calls that ``hold`` made wait."""
        return self._outbound_calls.send_queued() if self.is_holding else []

    # ---- calls of this worker's functions

    def answer(self, invocation_id: str, result: str | None) -> list[Effect]:
        """A handler returned. ``result`` is JSON text, or None if it returned nothing."""
        return self._inbound_calls.answer(invocation_id, result)

    def fail(self, invocation_id: str, error: CallError) -> list[Effect]:
        """A handler failed."""
        return self._inbound_calls.fail(invocation_id, error)

    # ---- frames of the engine

    def receive(self, frame: str | bytes) -> list[Effect]:
        """A frame arrived. Never raises, even for invalid frames."""
        message = read_frame(frame)
        return self._actions[type(message)](message)

    def _on_invocation(self, call: Invocation) -> list[Effect]:
        refusal: CallError | None = None
        if not self._registrations.has_function(call.function_id):
            refusal = CallError("function_not_found", f"Function {call.function_id} not found", {"executed": "no"})
        elif self._draining and not self._awaits_pong:
            message = "the worker is shutting down and accepts no new calls"
            refusal = CallError("draining", message, {"executed": "no"})
        return self._inbound_calls.arrived(call, refusal)

    def _on_welcome(self, welcome: Welcome) -> list[Effect]:
        self._worker_id, self._reattach_token = welcome.worker_id, welcome.reattach_token
        self._outbound_calls.registered(enforces_deadlines=welcome.is_engine_of_svc)
        return [Registered(welcome.worker_id, welcome.is_engine_of_svc)]

    def _on_bind(self, bind: Bind) -> list[Effect]:
        if not self._registrations.has_trigger_type(bind.trigger_type):
            message = f"Trigger type {bind.trigger_type} not found"
            self._outbound.send_binding_answer(bind, CallError("trigger_type_not_found", message))
            return []
        # A repeated trigger replaces the bound one.
        replaced = self._registrations.release(bind.id)
        self._registrations.hold(bind)
        return [bind] if replaced is None else [replaced, bind]

    def _on_unbind(self, request: UnbindRequest) -> list[Effect]:
        unbind = self._registrations.release(request.id)
        return [] if unbind is None else [unbind]

    def _on_trigger_result(self, result: TriggerResult) -> list[Effect]:
        return [result] if self._registrations.has_trigger(result.id) else []

    def _on_error(self, message: EngineError) -> list[Effect]:
        error, trigger_id = message.error, message.id
        if message.message_type == "registertrigger" and trigger_id is not None:
            return self._on_trigger_result(TriggerResult(trigger_id, "error", error.message, error))
        facts: dict[str, object] = {"code": error.code, "error": error.message, "details": error.details}
        return [Notice("error", "the engine rejected a message of this worker", facts)]

    def _on_bad_frame(self, frame: BadFrame) -> list[Effect]:
        facts: dict[str, object] = {"problem": frame.problem, "invocation_id": frame.invocation_id}
        effects: list[Effect] = [Notice("warn", "the engine sent an invalid frame", facts)]
        if frame.invocation_id is None:
            return effects
        # A result comes only from a function that ran.
        executed = "yes" if frame.type == "invocationresult" else "no"
        error = CallError("invalid_message", frame.problem, {"executed": executed})
        if frame.type == "invokefunction":
            return effects + self._outbound.send_error(frame.invocation_id, frame.function_id, error)
        if frame.type == "invocationresult":
            return effects + self._outbound_calls.answered_badly(frame.invocation_id, error)
        return effects

    def _on_ping(self, _: Ping) -> list[Effect]:
        self._outbound.send({"type": "pong"})
        return []

    def _on_pong(self, _: Pong) -> list[Effect]:
        return self._drained()

    def _drained(self) -> list[Effect]:
        if not self._awaits_pong:
            return []
        self._awaits_pong = False
        return [Drained()]

    def _on_ignored(self, _: Ignored) -> list[Effect]:
        return []

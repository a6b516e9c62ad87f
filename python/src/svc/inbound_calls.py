"""Calls of this worker's functions: from their arrival to the handler's result. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .codec import encode_frame
from .effects import Cancel, Effect, Notice, Run
from .errors import CallError, with_executed
from .inbound import Invocation
from .outbound import Outbound


@dataclass(frozen=True, slots=True)
class _Running:
    invocation_id: str
    function_id: str
    wants_answer: bool


class InboundCalls:
    def __init__(
        self, outbound: Outbound, *, new_id: Callable[[], str], is_within_handler: Callable[[str], bool]
    ) -> None:
        self._outbound = outbound
        self._new_id = new_id
        self._is_within_handler = is_within_handler
        self._running: dict[str, _Running] = {}
        #: Cancelled runs whose handlers have not ended, with the reason.
        self._abandoned: dict[str, str] = {}

    def arrived(self, call: Invocation, refusal: CallError | None) -> list[Effect]:
        if refusal is not None:
            if call.invocation_id is None:
                return []
            return self._outbound.send_error(call.invocation_id, call.function_id, refusal)
        # The engine omits the id if it expects no result. Tracking the handler requires one.
        invocation_id = call.invocation_id or self._new_id()
        if invocation_id in self._running or invocation_id in self._abandoned:
            return [Notice("warn", "a call arrived twice; running it once", {"invocation_id": invocation_id})]
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
                # The engine forwards the caller's invocation id, which identifies calls of this worker to itself.
                self._is_within_handler(invocation_id),
                call.may_name_channels,
            )
        ]

    def cancelled(self, request: Cancel) -> list[Effect]:
        running = self._running.get(request.invocation_id)
        return [] if running is None else [self._abandon(running, request.reason)]

    def connection_ended(self) -> list[Effect]:
        return [self._abandon(running, "disconnected") for running in list(self._running.values())]

    def answer(self, invocation_id: str, result: str | None) -> list[Effect]:
        running = self._running.get(invocation_id)
        if running is None:
            return self._late(invocation_id)
        members = {"type": "invocationresult", "invocation_id": invocation_id, "function_id": running.function_id}
        try:
            frame = encode_frame(members, None if result is None else ("result", result))
        except CallError as too_large:
            return self.fail(invocation_id, with_executed(too_large, "yes"))
        del self._running[invocation_id]
        if running.wants_answer:
            self._outbound.push(frame)
        return []

    def fail(self, invocation_id: str, error: CallError) -> list[Effect]:
        running = self._running.pop(invocation_id, None)
        if running is None:
            return self._late(invocation_id)
        return self._outbound.send_error(invocation_id, running.function_id, error) if running.wants_answer else []

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
        return [Notice(level, "a result was dropped: the call is no longer pending", facts)]

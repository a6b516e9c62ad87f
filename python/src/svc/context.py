"""What a handler knows about the call that it carries out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from .effects import Caller, Job, Run
from .logger import Logger
from .telemetry.baggage import read_baggage
from .telemetry.spans import Span, SpanKind
from .telemetry.trace_context import CallFacts


class Calls(Protocol):
    """The part of a worker that a context needs."""

    def call_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any: ...

    async def call_async_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any: ...

    def span_within(self, call: CallFacts, name: str, kind: SpanKind, attributes: Mapping[str, object]) -> Span: ...


@dataclass(frozen=True, slots=True, eq=False)
class HandlerContext:
    """Second argument of a handler.

    Attributes:
        invocation_id: UUID of the call.
        function_id: The function that was called.
        caller: Who called, by the engine's word: ``worker_id`` and ``name``. None when the engine itself called.
        job: The queued job that this call carries out: ``queue``, ``id``, ``attempt`` (from 1). None outside queues.
        metadata: The caller's remarks, or the trigger's ``metadata``.
        traceparent: W3C trace context of the call; calls made within the handler carry it on.
        baggage: W3C baggage, likewise.
        cancelled: Set when nobody waits any more: the caller withdrew, its deadline passed, or the connection was lost.
            Long sync handlers should look at it; async handlers are cancelled besides (``asyncio.CancelledError``).
        log: Its lines carry the function, the call and the span, and are kept by the engine with that span.
    """

    invocation_id: str
    function_id: str
    caller: Caller | None
    job: Job | None
    metadata: Any
    traceparent: str | None
    baggage: str | None
    log: Logger
    _calls: Calls = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    def call(self, request: Mapping[str, Any]) -> Any:
        """As ``worker.call``; carries the trace on also from threads that the handler started itself."""
        return self._calls.call_within(self, request)

    async def call_async(self, request: Mapping[str, Any]) -> Any:
        """As ``worker.call_async``; carries the trace on."""
        return await self._calls.call_async_within(self, request)

    def span(self, name: str, /, *, kind: SpanKind = "internal", **attributes: object) -> Span:
        """Records a piece of work as a span of its own below this call's: ``with context.span("load", rows=3):``.

        In ``async with`` too. Calls and log lines inside hang below the span; what is raised is recorded and raised on.

        Raises:
            ValueError: a kind that there is not.
        """
        return self._calls.span_within(self, name, kind, attributes)

    def baggage_entry(self, name: str) -> str | None:
        """One entry of ``baggage``, decoded."""
        return read_baggage(self.baggage).get(name)


#: The call that the running code carries out, if any. Copied into tasks and handler threads.
current_context: ContextVar[HandlerContext | None] = ContextVar("svc_current_context", default=None)


def context_of(run: Run, log: Logger, calls: Calls) -> HandlerContext:
    return HandlerContext(
        invocation_id=run.invocation_id,
        function_id=run.function_id,
        caller=run.caller,
        job=run.job,
        metadata=run.metadata,
        traceparent=run.traceparent,
        baggage=run.baggage,
        log=log.within(run),
        _calls=calls,
    )

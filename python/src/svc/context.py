"""The context of a call, which handlers receive."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from .blocking import blocking
from .effects import Caller, Job, Run
from .logger import Logger
from .telemetry.spans import Span, SpanKind
from .telemetry.trace_context import CallFacts, read_baggage


class Calls(Protocol):
    """The part of a worker that a context needs."""

    async def call_async_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any: ...

    def span_within(self, call: CallFacts, name: str, kind: SpanKind, attributes: Mapping[str, object]) -> Span: ...

    def notify(self, request: Mapping[str, Any]) -> None: ...


#: Maximum length of a progress note, in characters.
_MAX_NOTE = 256


@dataclass(frozen=True, slots=True, eq=False)
class RunningJob(Job):
    """The queued job that a handler runs."""

    _notify: Callable[[Mapping[str, Any]], None] = field(repr=False)
    _cancelled: threading.Event = field(repr=False)

    def __eq__(self, other: object) -> bool:
        """Equals a ``Job`` of the same attempt."""
        return isinstance(other, Job) and (self.queue, self.id, self.attempt) == (other.queue, other.id, other.attempt)

    def __hash__(self) -> int:
        return hash((self.queue, self.id, self.attempt))

    def progress(self, value: float, note: str | None = None) -> None:
        """Reports how far the job is. Callable in sync and async handlers; returns at once.

        ``queue.get_job``, the console and ``svc queue watch`` show the last report while the attempt runs. A report
        that cannot be sent is dropped.

        Args:
            value: 0 to 1.
            note: For people, at most 256 characters.

        Raises:
            ValueError: another value.
        """
        if not 0 <= value <= 1:
            raise ValueError(f"the progress of a job must be a number from 0 to 1; it is {value!r}")
        if note is not None and len(note) > _MAX_NOTE:
            raise ValueError(f"the note of a job's progress must have at most {_MAX_NOTE} characters")
        # After a cancellation the engine rejects reports of this attempt.
        if self._cancelled.is_set():
            return
        members = {"queue": self.queue, "job_id": self.id, "attempt": self.attempt, "progress": value, "note": note}
        self._notify({"function_id": "queue::report_progress", "payload": members})


@dataclass(frozen=True, slots=True, eq=False)
class HandlerContext:
    """Second argument of a handler.

    Attributes:
        invocation_id: UUID of the call.
        function_id: The called function.
        caller: Who called, as verified by the engine: ``worker_id`` and ``name``. None if the engine itself called.
        job: The queued job of this call: ``queue``, ``id``, ``attempt`` (from 1), and ``progress(0.4, "note")``, which
            reports how far it is. None outside queues.
        metadata: The caller's ``metadata``, or the trigger's.
        traceparent: W3C trace context of the call, propagated by calls within the handler.
        baggage: W3C baggage, likewise propagated.
        cancelled: Set when the result is not needed any more: the caller cancelled, the deadline passed, or the
            connection was lost. Long sync handlers should check it. Async handlers are also cancelled
            (``asyncio.CancelledError``).
        log: Logger whose lines carry the function, the call and the span. The engine stores them with that span.
    """

    invocation_id: str
    function_id: str
    caller: Caller | None
    job: RunningJob | None
    metadata: Any
    traceparent: str | None
    baggage: str | None
    log: Logger
    _calls: Calls = field(repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    _name: ClassVar[str] = "context"

    async def call_async(self, request: Mapping[str, Any]) -> Any:
        """As ``worker.call``. Propagates the trace context, also from threads that the handler started itself."""
        return await self._calls.call_async_within(self, request)

    call = blocking(call_async)

    def span(self, name: str, /, *, kind: SpanKind = "internal", **attributes: object) -> Span:
        """Records an operation as a child span of this call's span: ``with context.span("load", rows=3):``.

        Also works in ``async with``. Calls and log lines inside belong to the span. An exception is recorded and
        propagates.

        Raises:
            ValueError: the kind is unknown.
        """
        return self._calls.span_within(self, name, kind, attributes)

    def baggage_entry(self, name: str) -> str | None:
        """Returns one entry of ``baggage``, decoded."""
        return read_baggage(self.baggage).get(name)


#: The call whose handler runs the current code, if any. Copied into tasks and handler threads.
current_context: ContextVar[HandlerContext | None] = ContextVar("svc_current_context", default=None)


def context_of(run: Run, log: Logger, calls: Calls) -> HandlerContext:
    cancelled = threading.Event()
    job = run.job
    return HandlerContext(
        invocation_id=run.invocation_id,
        function_id=run.function_id,
        caller=run.caller,
        job=None if job is None else RunningJob(job.queue, job.id, job.attempt, calls.notify, cancelled),
        metadata=run.metadata,
        traceparent=run.traceparent,
        baggage=run.baggage,
        log=log.within(run),
        _calls=calls,
        cancelled=cancelled,
    )

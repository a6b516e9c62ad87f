"""Spans that a worker records. The engine itself records one for every call."""

from __future__ import annotations

import contextvars
import json
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal, TypeAlias

from .open_telemetry import active_headers, enter_span, leave_span
from .otlp_values import MAX_ATTRIBUTES, OtlpAttributes, message_of
from .trace_context import CallFacts, TraceContext, TraceHeaders, child_of, read_traceparent

SpanKind: TypeAlias = Literal["internal", "server", "client", "producer", "consumer"]
_KINDS: dict[SpanKind, int] = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_STATUS_ERROR = 2
_MAX_EVENTS = 128
_MAX_NAME_CHARS = 1_024

_current_span: contextvars.ContextVar[Span | None] = contextvars.ContextVar("svc_current_span", default=None)


def headers_within(call: CallFacts | None) -> TraceHeaders | None:
    """Returns the current trace context within ``call``, or outside of calls."""
    span = _current_span.get()
    below: TraceHeaders | None = span if span is not None and span.call_id == _id_of(call) else call
    return active_headers(below)


def _id_of(call: CallFacts | None) -> str | None:
    return None if call is None else call.invocation_id


class Span:
    """An operation that traces show with its name and duration. Created by ``context.span`` and ``worker.span``.

    Use it once, in ``with`` or ``async with``. Calls and log lines inside belong to it. An exception inside is recorded
    and propagates.
    """

    def __init__(
        self,
        name: str,
        kind: SpanKind,
        call: CallFacts | None,
        record: Callable[[str], None] | None,
        takes_unsampled: Callable[[], bool],
    ) -> None:
        if kind not in _KINDS:
            raise ValueError(f"the kind of a span is one of {', '.join(_KINDS)}, not {kind!r:.50}")
        self._name = str(name)[:_MAX_NAME_CHARS]
        self._kind = kind
        self._call = call
        self._record = record
        self._takes_unsampled = takes_unsampled
        self._attributes: dict[str, object] = {}
        self._events: list[tuple[str, int, OtlpAttributes]] = []
        self._dropped_attributes = 0
        self._dropped_events = 0
        self._parent: TraceContext | None = None
        self._context: TraceContext | None = None
        self._baggage: str | None = None
        self._started_ns = 0
        self._before: Span | None = None
        self._token: object = None

    @property
    def call_id(self) -> str | None:
        """Invocation id of its call."""
        return _id_of(self._call)

    @property
    def traceparent(self) -> str | None:
        """W3C trace context of this span; None before it starts."""
        return None if self._context is None else self._context.traceparent

    @property
    def baggage(self) -> str | None:
        """W3C baggage of its call."""
        return self._baggage

    def set_attribute(self, name: str, value: object) -> None:
        """Sets an attribute to a JSON value. At most 128, 32 KiB in total. The last value of a name is used."""
        if len(self._attributes) < MAX_ATTRIBUTES or name in self._attributes:
            self._attributes[name] = value
        else:
            self._dropped_attributes += 1

    def add_event(self, name: str, /, **attributes: object) -> None:
        """Records an event at the current time. At most 128 are kept."""
        written = self._event(name)
        if written is not None:
            for key, value in attributes.items():
                written.set(key, value)

    def _event(self, name: str) -> OtlpAttributes | None:
        if len(self._events) >= _MAX_EVENTS:
            self._dropped_events += 1
            return None
        attributes = OtlpAttributes()
        self._events.append((name[:_MAX_NAME_CHARS], time.time_ns(), attributes))
        return attributes

    def __enter__(self) -> Span:
        if self._context is not None:
            raise RuntimeError("a span can be used once; create a new one")
        headers = headers_within(self._call)
        self._parent = None if headers is None else read_traceparent(headers.traceparent)
        self._baggage = None if headers is None else headers.baggage
        if self._parent is not None and (self._record is None or not (self._parent.sampled or self._takes_unsampled())):
            # The span is not recorded, so its children become children of its parent.
            self._record = None
            self._context = self._parent
        else:
            self._context = child_of(self._parent)
        self._started_ns = time.time_ns()
        self._before = _current_span.get()
        _current_span.set(self)
        self._token = enter_span(self._context)
        return self

    def __exit__(
        self, type: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        leave_span(self._token)
        _current_span.set(self._before)
        if self._record is None:
            return
        if raised is not None and not isinstance(raised, GeneratorExit):
            attributes = self._event("exception")
            if attributes is not None:
                attributes.exception(raised)
            self._record(self._ended({"code": _STATUS_ERROR, "message": message_of(raised)[:_MAX_NAME_CHARS]}))
        else:
            self._record(self._ended({"code": 0}))

    async def __aenter__(self) -> Span:
        return self.__enter__()

    async def __aexit__(
        self, type: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(type, raised, traceback)

    def _ended(self, status: dict[str, object]) -> str:
        assert self._context is not None
        attributes = OtlpAttributes()
        if self._call is not None:
            attributes.set("svc.function_id", self._call.function_id)
            attributes.set("svc.invocation_id", self._call.invocation_id)
        for name, value in self._attributes.items():
            attributes.set(name, value)
        span: dict[str, object] = {
            "traceId": self._context.trace_id,
            "spanId": self._context.span_id,
            "flags": int(self._context.sampled),
            "name": self._name,
            "kind": _KINDS[self._kind],
            "startTimeUnixNano": str(self._started_ns),
            "endTimeUnixNano": str(max(self._started_ns, time.time_ns())),
            "attributes": attributes.list,
            "events": [
                {"timeUnixNano": str(time_ns), "name": name, "attributes": event.list}
                for name, time_ns, event in self._events
            ],
            "status": status,
        }
        if self._parent is not None:
            span["parentSpanId"] = self._parent.span_id
        dropped = self._dropped_attributes + attributes.dropped
        if dropped:
            span["droppedAttributesCount"] = dropped
        if self._dropped_events:
            span["droppedEventsCount"] = self._dropped_events
        return json.dumps(span, separators=(",", ":"))

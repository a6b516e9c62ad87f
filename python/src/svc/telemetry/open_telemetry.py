"""Interoperates with OpenTelemetry if the program has imported it. Never imports it otherwise."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from .trace_context import Carried, TraceContext, TraceHeaders, read_baggage, read_traceparent, write_baggage


def _trace_api() -> Any:
    return sys.modules.get("opentelemetry.trace")


def enter_call(headers: TraceHeaders) -> None:
    """Makes a call's context the active one. Must be called in a new ``contextvars.Context``."""
    if _trace_api() is None:
        return
    context = importlib.import_module("opentelemetry.context")
    baggage = importlib.import_module("opentelemetry.baggage")
    entered = context.Context()
    parent = read_traceparent(headers.traceparent)
    if parent is not None:
        entered = _with_span(parent, entered)
    for name, value in read_baggage(headers.baggage).items():
        entered = baggage.set_baggage(name, value, entered)
    context.attach(entered)


def enter_span(span: TraceContext) -> object:
    """Makes a span of this SDK the active one. Returns the token for ``leave_span``."""
    if _trace_api() is None:
        return None
    context = importlib.import_module("opentelemetry.context")
    return context.attach(_with_span(span, context.get_current()))


def leave_span(token: object) -> None:
    if token is not None:
        importlib.import_module("opentelemetry.context").detach(token)


def active_headers(current: TraceHeaders | None) -> TraceHeaders | None:
    """Returns the trace context and baggage of the active OpenTelemetry span.

    Returns ``current`` if no span is active, or if the active span belongs to a different trace.
    """
    api = _trace_api()
    if api is None:
        return current
    entries = {name: str(value) for name, value in importlib.import_module("opentelemetry.baggage").get_all().items()}
    received = None if current is None else current.baggage
    # The received text may contain properties, which OpenTelemetry drops here.
    baggage = received if not entries or entries == read_baggage(received) else write_baggage(entries)
    span = api.get_current_span().get_span_context()
    if not span.is_valid:
        return current if baggage == received else Carried(None if current is None else current.traceparent, baggage)
    running = read_traceparent(None if current is None else current.traceparent)
    trace_id = f"{span.trace_id:032x}"
    if running is not None and running.trace_id != trace_id:
        return current
    return Carried(TraceContext(trace_id, f"{span.span_id:016x}", bool(span.trace_flags & 1)).traceparent, baggage)


def _with_span(span: TraceContext, context: Any) -> Any:
    api = _trace_api()
    described = api.SpanContext(
        int(span.trace_id, 16), int(span.span_id, 16), is_remote=True, trace_flags=api.TraceFlags(int(span.sampled))
    )
    return api.set_span_in_context(api.NonRecordingSpan(described), context)

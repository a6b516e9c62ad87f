"""Log lines as ``LogRecord`` of OTLP/JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .otlp_values import OtlpAttributes
from .trace_context import CallFacts, TraceContext

#: Severity numbers of OpenTelemetry.
_SEVERITY = {"debug": 5, "info": 9, "warn": 13, "error": 17}


def log_record(
    level: str,
    message: str,
    fields: Mapping[str, object],
    *,
    time_ns: int,
    log_id: str,
    call: CallFacts | None = None,
    trace: TraceContext | None = None,
) -> str:
    """Returns JSON text. ``log_id`` is also in the line on stderr, so that an engine that reads both deduplicates."""
    attributes = OtlpAttributes()
    body = {"stringValue": attributes.text(message)}
    attributes.set("svc.log.id", log_id)
    if call is not None:
        attributes.set("svc.function_id", call.function_id)
        attributes.set("svc.invocation_id", call.invocation_id)
    exception: BaseException | None = None
    for name, value in fields.items():
        if isinstance(value, BaseException) and exception is None:
            exception = value
        else:
            attributes.set(name, value)
    if exception is not None:
        attributes.exception(exception)
    record: dict[str, object] = {
        "timeUnixNano": str(time_ns),
        "observedTimeUnixNano": str(time_ns),
        "severityNumber": _SEVERITY[level],
        "severityText": level.upper(),
        "body": body,
        "attributes": attributes.list,
    }
    if attributes.dropped:
        record["droppedAttributesCount"] = attributes.dropped
    if trace is not None:
        record |= {"traceId": trace.trace_id, "spanId": trace.span_id, "flags": int(trace.sampled)}
    return json.dumps(record, separators=(",", ":"))

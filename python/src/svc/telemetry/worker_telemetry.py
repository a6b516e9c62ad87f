"""Telemetry of a worker: OTLP/JSON frames over its own connection (protocol section 9)."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping

from svc.context import current_context
from svc.logger import Logger
from svc.loop_thread import LoopThread
from svc.version import VERSION

from .gauges import Gauges, ProcessFigures
from .log_record import log_record
from .options import Switches
from .outbox import Outbox
from .spans import Span, SpanKind, headers_within
from .trace_context import CallFacts, TraceContext, random_hex, read_traceparent

# Limit for spans of calls that are not sampled. The engine buffers them and stores only those of failed or slow traces,
# so they must cost little.
MAX_UNSAMPLED_PER_SECOND = 100
_SDK = "svc-python"
_GROUPS = {
    "OTLP": ("resourceSpans", "scopeSpans", "spans"),
    "LOGS": ("resourceLogs", "scopeLogs", "logRecords"),
    "MTRC": ("resourceMetrics", "scopeMetrics", "metrics"),
}


class WorkerTelemetry:
    """Buffers and sends telemetry. If the engine is disconnected or slow, entries are dropped and counted.

    ``span`` and ``send`` may be called from any thread, the other methods only on the loop's.

    Args:
        logger: The user's logger, which reports dropped entries.
    """

    def __init__(self, name: str, switches: Switches, loop: LoopThread, logger: Logger) -> None:
        self._name = name
        self._loop = loop
        self._logger = logger
        self._write_soon: Callable[[], None] = _not_yet
        self._metrics: list[str] = []
        self._unsampled = RateLimiter(MAX_UNSAMPLED_PER_SECOND)
        self._logs = self._outbox() if switches.logs else None
        self._spans = self._outbox() if switches.spans else None
        self._gauges = Gauges(loop.loop, ProcessFigures(), self._take_metrics) if switches.metrics else None
        facts = {
            "service.name": name,
            "service.instance.id": random_hex(16),
            "telemetry.sdk.name": "svc",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": VERSION,
            "process.pid": str(os.getpid()),
        }
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in facts.items()]
        self._resource = json.dumps({"attributes": attributes})
        self._scope = json.dumps({"name": _SDK, "version": VERSION})

    @property
    def sends_logs(self) -> bool:
        return self._logs is not None

    def written_by(self, write_soon: Callable[[], None]) -> None:
        """Sets the function that schedules ``take_frames``."""
        self._write_soon = write_soon

    def registered(self, worker_id: str) -> None:
        """Called when an engine of svc has registered the worker."""
        for outbox in (self._logs, self._spans):
            if outbox is not None:
                outbox.open()
        if self._gauges is not None:
            self._gauges.start(worker_id, self._name)

    def disconnected(self) -> None:
        """Called when the connection is lost. Buffered entries wait for the next connection."""
        for outbox in (self._logs, self._spans):
            if outbox is not None:
                outbox.close()
        if self._gauges is not None:
            self._gauges.stop()
        self._metrics.clear()

    def flush(self) -> None:
        """Schedules writing all buffered entries, for the shutdown."""
        for outbox in (self._logs, self._spans):
            if outbox is not None:
                outbox.flush()

    def take_frames(self) -> list[bytes]:
        frames = [*self._frames_of("LOGS", self._logs), *self._frames_of("OTLP", self._spans)]
        if self._metrics:
            frames.append(self._frame("MTRC", self._metrics))
            self._metrics = []
        return frames

    # ---- for the logger

    def trace_of(self, call: CallFacts | None) -> TraceContext | None:
        """Returns the current span of ``call``; without ``call``, of the running code."""
        headers = headers_within(current_context.get() if call is None else call)
        return None if headers is None else read_traceparent(headers.traceparent)

    def send(
        self,
        level: str,
        message: str,
        fields: Mapping[str, object],
        *,
        time_ns: int,
        log_id: str,
        call: CallFacts | None,
        trace: TraceContext | None,
    ) -> None:
        if self._logs is not None:
            self._logs.add(log_record(level, message, fields, time_ns=time_ns, log_id=log_id, call=call, trace=trace))

    # ---- for handlers

    def span(self, name: str, kind: SpanKind, call: CallFacts | None, attributes: Mapping[str, object]) -> Span:
        span = Span(name, kind, call, None if self._spans is None else self._spans.add, self._unsampled.take)
        for key, value in attributes.items():
            span.set_attribute(key, value)
        return span

    # ---- inside

    def _outbox(self) -> Outbox:
        return Outbox(soon=self._soon, due=lambda: self._write_soon())

    def _soon(self, delay_s: float, action: Callable[[], None]) -> None:
        if delay_s == 0:
            self._loop.soon(action)
        else:
            self._loop.soon(lambda: self._loop.loop.call_later(delay_s, action))

    def _take_metrics(self, metrics: list[str]) -> None:
        # Replaces unsent metrics, which are out of date.
        self._metrics = metrics
        self._write_soon()

    def _frames_of(self, signal: str, outbox: Outbox | None) -> list[bytes]:
        batches, dropped = ([], 0) if outbox is None else outbox.take()
        if dropped and batches:
            what = "log entries" if signal == "LOGS" else "spans"
            message = f"{what} were dropped: the buffer was full"
            self._logger.warn(message, worker=self._name, dropped=dropped)
            self.send(
                "warn",
                message,
                {"dropped": dropped},
                time_ns=time.time_ns(),
                log_id=random_hex(8),
                call=None,
                trace=None,
            )
        return [self._frame(signal, entries) for entries in batches]

    def _frame(self, signal: str, entries: list[str]) -> bytes:
        resources, scopes, records = _GROUPS[signal]
        scope = f'{{"scope":{self._scope},"{records}":[{",".join(entries)}]}}'
        body = f'{{"{resources}":[{{"resource":{self._resource},"{scopes}":[{scope}]}}]}}'
        return (signal + body).encode("utf-8")


class RateLimiter:
    """Permits a number of events per second. Thread-safe."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._lock = threading.Lock()
        self._since: float | None = None
        self._taken = 0

    def take(self) -> bool:
        """Returns False if no permit is left."""
        now = time.monotonic()
        with self._lock:
            if self._since is None or now - self._since >= 1:
                self._since = now
                self._taken = 0
            if self._taken >= self._per_second:
                return False
            self._taken += 1
            return True


def _not_yet() -> None:
    return

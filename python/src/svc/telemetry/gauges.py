"""Metrics of the worker's process, reported periodically."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Protocol

FIRST_AFTER_S = 1.0
EVERY_S = 10.0
#: Interval of event loop lag measurements.
_LAG_CHECK_EVERY_S = 1.0
_STARTED_S = time.monotonic()


class Timer(Protocol):
    def cancel(self) -> None: ...


class Schedule(Protocol):
    """Clock and timers of an event loop, in seconds."""

    def time(self) -> float: ...

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer: ...


class ProcessFigures:
    """Resource usage of this process."""

    def cpu_s(self) -> float:
        return time.process_time()

    def uptime_s(self) -> float:
        """Returns the seconds since this package was imported."""
        return time.monotonic() - _STARTED_S

    def rss_bytes(self) -> int | None:
        try:
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return None


class Gauges:
    """All methods belong to the loop's thread.

    Args:
        report: Called with metrics, each the JSON text of a ``Metric`` of OTLP/JSON.
    """

    def __init__(self, schedule: Schedule, figures: ProcessFigures, report: Callable[[list[str]], None]) -> None:
        self._schedule = schedule
        self._figures = figures
        self._report_metrics = report
        self._timer: Timer | None = None
        self._attributes: list[dict[str, object]] = []
        self._cpu_s = 0.0
        self._since_s = 0.0
        self._worst_lag_s = 0.0
        self._due_s = 0.0

    def start(self, worker_id: str, name: str) -> None:
        """Called when the worker is connected. ``worker_id``: its id."""
        self.stop()
        named = {"worker.id": worker_id, "worker.name": name}
        self._attributes = [{"key": key, "value": {"stringValue": value}} for key, value in named.items()]
        self._cpu_s = self._figures.cpu_s()
        self._since_s = self._schedule.time()
        self._worst_lag_s = 0.0
        self._due_s = self._since_s + FIRST_AFTER_S
        self._schedule_check()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule_check(self) -> None:
        expected_s = self._schedule.time() + _LAG_CHECK_EVERY_S

        def check() -> None:
            now_s = self._schedule.time()
            self._worst_lag_s = max(self._worst_lag_s, now_s - expected_s)
            # Timers of event loops may fire early by the clock's resolution.
            if now_s >= self._due_s - 0.01:
                self._report(now_s)
            self._schedule_check()

        self._timer = self._schedule.call_later(_LAG_CHECK_EVERY_S, check)

    def _report(self, now_s: float) -> None:
        cpu_s, rss_bytes = self._figures.cpu_s(), self._figures.rss_bytes()
        percent = 100 * (cpu_s - self._cpu_s) / max(0.001, now_s - self._since_s)
        metrics = [
            self._gauge("cpu_percent", "%", round(percent, 2)),
            self._gauge("event_loop_lag_ms", "ms", round(self._worst_lag_s * 1_000, 2)),
            self._gauge("uptime_seconds", "s", round(self._figures.uptime_s(), 2)),
        ]
        if rss_bytes is not None:
            metrics.append(self._gauge("rss_bytes", "By", rss_bytes))
        self._report_metrics(metrics)
        self._cpu_s, self._since_s, self._worst_lag_s = cpu_s, now_s, 0.0
        self._due_s = now_s + EVERY_S

    def _gauge(self, name: str, unit: str, value: float) -> str:
        point = {"timeUnixNano": str(time.time_ns()), "attributes": self._attributes, "asDouble": value}
        return json.dumps({"name": f"svc.worker.{name}", "unit": unit, "gauge": {"dataPoints": [point]}})

from __future__ import annotations

import heapq
import json
from collections.abc import Callable

import pytest

from svc.telemetry.gauges import Gauges, ProcessFigures
from svc.telemetry.outbox import BATCH_ENTRIES, FLUSH_AFTER_S, MAX_CHARS, MAX_ENTRIES, Outbox
from svc.telemetry.trace_context import read_traceparent


class Schedule:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._made = 0
        self._cancelled: set[int] = set()

    def time(self) -> float:
        return self.now_s

    def call_later(self, delay: float, callback: Callable[[], None], /) -> Timer:
        self._made += 1
        heapq.heappush(self._timers, (self.now_s + delay, self._made, callback))
        return Timer(self._cancelled, self._made)

    def soon(self, delay_s: float, action: Callable[[], None], /) -> None:
        self.call_later(delay_s, action)

    def advance(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self._timers and self._timers[0][0] <= until_s + 1e-9:
            self.now_s, number, callback = heapq.heappop(self._timers)
            if number not in self._cancelled:
                callback()
        self.now_s = until_s


class Timer:
    def __init__(self, cancelled: set[int], number: int) -> None:
        self._cancelled = cancelled
        self._number = number

    def cancel(self) -> None:
        self._cancelled.add(self._number)


class Socket:
    """Takes the entries of an outbox when it is due."""

    def __init__(self) -> None:
        self.schedule = Schedule()
        self.outbox = Outbox(soon=self.schedule.soon, due=self.take)
        self.batches: list[list[str]] = []
        self.dropped = 0

    def take(self) -> None:
        batches, dropped = self.outbox.take()
        self.batches += batches
        self.dropped += dropped


def test_an_outbox_batches_entries_of_100_ms() -> None:
    socket = Socket()
    socket.outbox.open()
    socket.outbox.add("a")
    socket.schedule.advance(FLUSH_AFTER_S / 2)
    socket.outbox.add("b")
    assert socket.batches == []
    socket.schedule.advance(FLUSH_AFTER_S / 2)
    assert socket.batches == [["a", "b"]]


def test_an_outbox_flushes_64_entries_immediately() -> None:
    socket = Socket()
    socket.outbox.open()
    for n in range(BATCH_ENTRIES):
        socket.outbox.add(str(n))
    socket.schedule.advance(0)
    assert [len(batch) for batch in socket.batches] == [BATCH_ENTRIES]


def test_an_outbox_buffers_entries_until_it_is_opened() -> None:
    socket = Socket()
    for n in range(70):
        socket.outbox.add(str(n))
    socket.schedule.advance(10)
    assert socket.batches == []
    socket.outbox.open()
    assert [len(batch) for batch in socket.batches] == [64, 6]
    socket.outbox.close()
    socket.outbox.add("later")
    socket.schedule.advance(10)
    assert len(socket.batches) == 2


@pytest.mark.parametrize(("count", "chars"), [(5_000, 1), (40, 100_000)])
def test_the_oldest_entries_are_dropped_and_counted(count: int, chars: int) -> None:
    socket = Socket()
    for n in range(count):
        socket.outbox.add(str(n).rjust(chars))
    socket.outbox.open()
    entries = [entry for batch in socket.batches for entry in batch]
    assert len(entries) == min(MAX_ENTRIES, MAX_CHARS // chars)
    assert entries[-1].strip() == str(count - 1)
    assert socket.dropped == count - len(entries)


class Figures(ProcessFigures):
    seconds = 5.0

    def cpu_s(self) -> float:
        return self.seconds

    def uptime_s(self) -> float:
        return 3.0

    def rss_bytes(self) -> int | None:
        return 1_000


def test_gauges_are_reported_after_one_second_and_every_ten() -> None:
    schedule, figures, handed = Schedule(), Figures(), list[list[str]]()
    gauges = Gauges(schedule, figures, handed.append)
    gauges.start("w1", "math-worker")
    schedule.advance(0.9)
    assert handed == []
    figures.seconds += 0.25
    schedule.advance(0.1)
    metrics = {metric["name"]: metric for metric in map(json.loads, handed[0])}
    points = {name: metric["gauge"]["dataPoints"][0] for name, metric in metrics.items()}
    assert {name: point["asDouble"] for name, point in points.items()} == {
        "svc.worker.cpu_percent": 25,
        "svc.worker.event_loop_lag_ms": 0,
        "svc.worker.uptime_seconds": 3,
        "svc.worker.rss_bytes": 1_000,
    }
    assert points["svc.worker.rss_bytes"]["attributes"] == [
        {"key": "worker.id", "value": {"stringValue": "w1"}},
        {"key": "worker.name", "value": {"stringValue": "math-worker"}},
    ]
    schedule.advance(9)
    assert len(handed) == 1
    schedule.advance(1)
    assert len(handed) == 2
    gauges.stop()
    schedule.advance(60)
    assert len(handed) == 2


def test_the_gauges_are_those_of_this_process() -> None:
    figures = ProcessFigures()
    rss_bytes = figures.rss_bytes()
    assert figures.cpu_s() > 0
    assert figures.uptime_s() >= 0
    assert rss_bytes is None or rss_bytes > 1_000_000


@pytest.mark.parametrize(
    "text",
    [None, "", "x", f"00-{'0' * 32}-{'1' * 16}-01", f"00-{'1' * 32}-{'0' * 16}-01", f"ff-{'1' * 32}-{'1' * 16}-01"],
)
def test_an_invalid_traceparent_is_none(text: str | None) -> None:
    assert read_traceparent(text) is None


def test_a_traceparent_is_read_and_written() -> None:
    text = f"00-{'1' * 32}-{'a' * 16}-01"
    read = read_traceparent(text)
    assert read is not None
    assert read.traceparent == text
    later = read_traceparent(f"cc-{'1' * 32}-{'a' * 16}-02-more")
    assert later is not None
    assert later.traceparent == f"00-{'1' * 32}-{'a' * 16}-00"

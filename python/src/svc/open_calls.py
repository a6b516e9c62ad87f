"""Pending calls: those that wait for the socket, and those that wait for their result. No I/O."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class OpenCall:
    key: int
    #: None for void calls, which have no result.
    invocation_id: str | None
    function_id: str
    timeout_ms: int
    deadline_ms: float
    #: Whether the caller or the worker's options set the deadline.
    has_own_deadline: bool
    within_handler: bool
    #: The frame while it waits for the socket; None once it was sent.
    queued_frame: str | None


class OpenCalls:
    """Pending calls by key, by invocation id and by deadline."""

    def __init__(self) -> None:
        self._by_key: dict[int, OpenCall] = {}
        self._by_invocation: dict[str, OpenCall] = {}
        self._queued: dict[int, OpenCall] = {}
        self._queued_chars = 0
        self._deadlines: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[OpenCall]:
        return iter(list(self._by_key.values()))

    @property
    def queued(self) -> int:
        return len(self._queued)

    @property
    def queued_chars(self) -> int:
        return self._queued_chars

    def add(self, call: OpenCall) -> None:
        self._by_key[call.key] = call
        if call.invocation_id is not None:
            self._by_invocation[call.invocation_id] = call
        if call.queued_frame is not None:
            self._queued[call.key] = call
            self._queued_chars += len(call.queued_frame)
        self._add_deadline(call)

    def defer(self, call: OpenCall, timeout_ms: int) -> None:
        """Postpones the call's deadline. ``timeout_ms`` counts from the start of the call."""
        call.deadline_ms += timeout_ms - call.timeout_ms
        call.timeout_ms = timeout_ms
        self._add_deadline(call)

    def _add_deadline(self, call: OpenCall) -> None:
        heapq.heappush(self._deadlines, (call.deadline_ms, call.key))
        # Entries of finished calls stay until their deadline. This limits how many accumulate.
        if len(self._deadlines) > 2 * len(self._by_key) + 1024:
            self._deadlines = [(open_call.deadline_ms, open_call.key) for open_call in self._by_key.values()]
            heapq.heapify(self._deadlines)

    def get(self, key: int) -> OpenCall | None:
        return self._by_key.get(key)

    def is_within_handler(self, invocation_id: str) -> bool:
        call = self._by_invocation.get(invocation_id)
        return call is not None and call.within_handler

    def take(self, key: int) -> OpenCall | None:
        call = self._by_key.pop(key, None)
        if call is None:
            return None
        if call.invocation_id is not None:
            self._by_invocation.pop(call.invocation_id, None)
        if call.queued_frame is not None:
            self._unqueue(call)
        return call

    def take_invocation(self, invocation_id: str) -> OpenCall | None:
        call = self._by_invocation.get(invocation_id)
        return None if call is None else self.take(call.key)

    def take_queued(self) -> Iterator[tuple[OpenCall, str]]:
        """Yields calls that wait for the socket, oldest first, with their frames, and marks them as sent."""
        for call in list(self._queued.values()):
            frame = call.queued_frame
            if frame is None:
                continue
            self._unqueue(call)
            yield call, frame

    def take_sent(self) -> Iterator[OpenCall]:
        for call in self:
            if call.queued_frame is None:
                self.take(call.key)
                yield call

    def expired(self, now_ms: float) -> Iterator[OpenCall]:
        """Yields calls whose deadline has passed. The caller removes them."""
        while self._deadlines and self._deadlines[0][0] <= now_ms:
            _, key = heapq.heappop(self._deadlines)
            call = self._by_key.get(key)
            if call is not None and call.deadline_ms <= now_ms:
                yield call

    def next_deadline_ms(self) -> float | None:
        while self._deadlines:
            deadline_ms, key = self._deadlines[0]
            call = self._by_key.get(key)
            if call is not None and call.deadline_ms == deadline_ms:
                break
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def _unqueue(self, call: OpenCall) -> None:
        self._queued.pop(call.key, None)
        self._queued_chars -= len(call.queued_frame or "")
        call.queued_frame = None

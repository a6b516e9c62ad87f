"""W3C Trace Context, https://www.w3.org/TR/trace-context/, and Baggage, https://www.w3.org/TR/baggage/."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote, unquote

# Future versions may add fields after these four. The version "ff" is invalid.
_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
#: Maximum number of baggage members to read. The specification requires support for 64; more are dropped.
_MAX_MEMBERS = 180


@dataclass(frozen=True, slots=True)
class TraceContext:
    """``trace_id``: 32 lower-case hex digits, ``span_id``: 16, neither all zero."""

    trace_id: str
    span_id: str
    sampled: bool

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02d}"


class TraceHeaders(Protocol):
    """Trace headers of a call."""

    @property
    def traceparent(self) -> str | None: ...

    @property
    def baggage(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Carried:
    """Trace headers without a call."""

    traceparent: str | None
    baggage: str | None


class CallFacts(TraceHeaders, Protocol):
    """The facts of a running call that telemetry uses."""

    @property
    def invocation_id(self) -> str: ...

    @property
    def function_id(self) -> str: ...


@dataclass(slots=True)
class LoggedCall:
    """The facts of a call without the call."""

    invocation_id: str
    function_id: str
    traceparent: str | None
    baggage: str | None


def read_traceparent(text: str | None) -> TraceContext | None:
    """Parses a ``traceparent`` header. Returns None if it is invalid."""
    found = None if text is None else _TRACEPARENT.fullmatch(text)
    if found is None:
        return None
    trace_id, span_id, flags = found.groups()
    return TraceContext(trace_id, span_id, int(flags, 16) & 1 == 1)


def child_of(parent: TraceContext | None) -> TraceContext:
    """Returns a child span of ``parent``, or the root of a new trace."""
    if parent is None:
        return TraceContext(random_hex(16), random_hex(8), True)
    return TraceContext(parent.trace_id, random_hex(8), parent.sampled)


def read_baggage(text: str | None) -> dict[str, str]:
    """Returns the entries of a ``baggage`` header, decoded, without their properties."""
    entries: dict[str, str] = {}
    for member in (text or "").split(",", _MAX_MEMBERS)[:_MAX_MEMBERS]:
        name, equals, value = member.partition(";")[0].partition("=")
        if equals and name.strip():
            entries[name.strip()] = unquote(value.strip())
    return entries


def write_baggage(entries: dict[str, str]) -> str:
    return ",".join(f"{name}={quote(value, safe='')}" for name, value in entries.items())


def random_hex(size: int) -> str:
    """Returns ``size`` random bytes as hex digits, never all zero."""
    while True:
        drawn = os.urandom(size)
        if any(drawn):
            return drawn.hex()

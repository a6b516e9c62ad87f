"""A call that this worker makes, and its frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .codec import encode_frame
from .errors import CallError
from .protocol import MAX_TIMEOUT_MS

Mode: TypeAlias = Literal["call", "void", "enqueue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A validated call. ``payload`` is JSON text."""

    function_id: str
    mode: Mode = "call"
    payload: str = "null"
    queue: str | None = None
    timeout_ms: int | None = None
    metadata: object = None
    traceparent: str | None = None
    baggage: str | None = None
    #: Whether a handler of this worker makes the call. It may be waiting for the result.
    within_handler: bool = False


def checked_timeout_ms(timeout_ms: object) -> int:
    """Returns the deadline in milliseconds. Raises CallError ``invalid_input`` if it is out of range."""
    if isinstance(timeout_ms, bool) or not isinstance(timeout_ms, int) or not 1 <= timeout_ms <= MAX_TIMEOUT_MS:
        message = f"timeout_ms must be a whole number of milliseconds from 1 to {MAX_TIMEOUT_MS}, not {timeout_ms!r}"
        raise CallError("invalid_input", message)
    return timeout_ms


def timeout_option(timeout_ms: object, what: str) -> int:
    """Returns the timeout of an option, or raises ValueError. ``what`` names the option."""
    try:
        return checked_timeout_ms(timeout_ms)
    except CallError as cause:
        raise ValueError(cause.message.replace("timeout_ms", what, 1)) from None


def call_frame(outgoing: Outgoing, invocation_id: str | None) -> str:
    """Returns the call's frame. ``data`` is the last member, so that the engine need not search for its end."""
    members: dict[str, object] = {"type": "invokefunction"}
    if invocation_id is not None:
        members["invocation_id"] = invocation_id
    members["function_id"] = outgoing.function_id
    if outgoing.traceparent is not None:
        members["traceparent"] = outgoing.traceparent
    if outgoing.baggage is not None:
        members["baggage"] = outgoing.baggage
    if outgoing.mode == "void":
        members["action"] = {"type": "void"}
    elif outgoing.mode == "enqueue":
        members["action"] = {"type": "enqueue", "queue": outgoing.queue}
    if outgoing.metadata is not None:
        members["metadata"] = outgoing.metadata
    if outgoing.timeout_ms is not None:
        members["timeout_ms"] = outgoing.timeout_ms
    return encode_frame(members, ("data", outgoing.payload))

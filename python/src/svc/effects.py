"""Actions that the session requests from ``EngineLink``. Plain values: no I/O, no callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .errors import CallError


@dataclass(frozen=True, slots=True)
class Registered:
    """The engine assigned this connection its id."""

    worker_id: str
    #: Whether the engine stores telemetry: engines of svc do.
    takes_telemetry: bool


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """The call with this key has a result."""

    call: int
    result: object


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The call with this key failed."""

    call: int
    error: CallError


@dataclass(frozen=True, slots=True)
class CallWritten:
    """The frame of a void call was passed to the socket. No further effect follows."""

    call: int


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller, as verified by the engine. Never taken from the payload."""

    worker_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Job:
    """The queued job that a call runs. ``attempt`` starts at 1."""

    queue: str
    id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Run:
    """Run the handler. ``invocation_id`` identifies its result."""

    invocation_id: str
    function_id: str
    payload: object
    metadata: object = None
    caller: Caller | None = None
    job: Job | None = None
    traceparent: str | None = None
    baggage: str | None = None
    #: Whether a handler of this same worker made the call. It may be waiting for the result.
    nested: bool = False
    #: False if the payload certainly contains no channel ref.
    may_name_channels: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """The result of this run is not needed any more. Stop it if possible."""

    invocation_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Bind:
    """The provider of the trigger type must bind this trigger, then report the result."""

    id: str
    trigger_type: str
    function_id: str
    config: object
    metadata: object = None


@dataclass(frozen=True, slots=True)
class Unbind:
    """The provider must unbind a trigger that it bound."""

    id: str
    trigger_type: str
    function_id: str
    config: object
    metadata: object = None


TriggerStatus: TypeAlias = Literal["active", "inactive", "error"]


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """The engine's result for a trigger that this worker registered."""

    id: str
    status: TriggerStatus
    reason: str | None
    error: CallError | None


@dataclass(frozen=True, slots=True)
class Drained:
    """No more calls can arrive: the engine has processed the unregistrations, or the socket has closed."""


@dataclass(frozen=True, slots=True)
class Draining:
    """The worker should go on at another engine, if it knows one.

    ``within_ms``: after this time also with calls in flight; None: when no call is in flight.
    """

    within_ms: int | None


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the log."""

    level: Literal["debug", "warn", "error"]
    message: str
    facts: dict[str, object]


Effect: TypeAlias = (
    Registered
    | CallAnswered
    | CallFailed
    | CallWritten
    | Run
    | Cancel
    | Bind
    | Unbind
    | TriggerResult
    | Drained
    | Draining
    | Notice
)

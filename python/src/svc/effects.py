"""What the session asks its shell to do. Plain values: no I/O, no callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .errors import CallError


@dataclass(frozen=True, slots=True)
class Registered:
    """The engine gave this connection its id."""

    worker_id: str
    #: It is an engine of svc, which keeps what this worker tells of its work.
    takes_telemetry: bool


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """The call of this key resolves."""

    call: int
    result: object


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The call of this key rejects."""

    call: int
    error: CallError


@dataclass(frozen=True, slots=True)
class CallWritten:
    """The frame of a void call was handed to the socket; nothing more will be heard of it."""

    call: int


@dataclass(frozen=True, slots=True)
class Caller:
    """Who called: the engine's word, never the payload's."""

    worker_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Job:
    """The queued job that a call carries out. ``attempt`` starts at 1."""

    queue: str
    id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Run:
    """Run the handler; its answer goes back by ``invocation_id``."""

    invocation_id: str
    function_id: str
    payload: object
    metadata: object = None
    caller: Caller | None = None
    job: Job | None = None
    traceparent: str | None = None
    baggage: str | None = None
    #: A handler of this same worker made the call, and may be waiting for it.
    nested: bool = False
    #: False when the payload names no channel for certain.
    may_name_channels: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody waits for this run any more; stop it if that can be done."""

    invocation_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Bind:
    """The provider of the trigger type shall bind this trigger, then answer."""

    id: str
    trigger_type: str
    function_id: str
    config: object
    metadata: object = None


@dataclass(frozen=True, slots=True)
class Unbind:
    """The provider shall let go of a trigger that it bound."""

    id: str
    trigger_type: str
    function_id: str
    config: object
    metadata: object = None


TriggerStatus: TypeAlias = Literal["active", "inactive", "error"]


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """What became of a trigger that this worker asked for."""

    id: str
    status: TriggerStatus
    reason: str | None
    error: CallError | None


@dataclass(frozen=True, slots=True)
class Drained:
    """No more calls can arrive: the engine has read that the functions are unregistered, or the socket has closed."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should read in the log."""

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
    | Notice
)

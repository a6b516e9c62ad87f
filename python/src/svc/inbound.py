"""Parses and validates the engine's frames. No I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from .channel_refs import MARK
from .codec import NotJson, decode_json, envelope_behind_payload, is_uuid
from .effects import Bind, Caller, Cancel, Draining, Job, TriggerResult, TriggerStatus
from .errors import CallError


@dataclass(frozen=True, slots=True)
class Invocation:
    """A call of one of this worker's functions. Without ``invocation_id`` the engine expects no result."""

    invocation_id: str | None
    function_id: str
    payload: object
    metadata: object
    caller: Caller | None
    job: Job | None
    traceparent: str | None
    baggage: str | None
    #: False if the payload certainly contains no channel ref.
    may_name_channels: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    invocation_id: str
    result: object
    error: CallError | None


@dataclass(frozen=True, slots=True)
class Welcome:
    worker_id: str
    reattach_token: str | None
    #: Engines of svc end every call at its deadline and accept telemetry.
    is_engine_of_svc: bool


@dataclass(frozen=True, slots=True)
class UnbindRequest:
    id: str


@dataclass(frozen=True, slots=True)
class EngineError:
    error: CallError
    message_type: str | None
    id: str | None


@dataclass(frozen=True, slots=True)
class Ping:
    pass


@dataclass(frozen=True, slots=True)
class Pong:
    pass


@dataclass(frozen=True, slots=True)
class Ignored:
    """A blank frame, or one of an unknown type, which newer engines may send."""


@dataclass(frozen=True, slots=True)
class BadFrame:
    """An invalid frame, with the members that could be read, so that the waiting side gets an error."""

    problem: str
    #: ``invokefunction`` or ``invocationresult`` if the frame belongs to a call.
    type: str | None = None
    invocation_id: str | None = None
    function_id: str = ""


Inbound: TypeAlias = (
    Invocation
    | Answer
    | Cancel
    | Welcome
    | Bind
    | UnbindRequest
    | TriggerResult
    | EngineError
    | Draining
    | Ping
    | Pong
    | Ignored
    | BadFrame
)


class _Malformed(Exception):
    pass


def read_frame(frame: str | bytes) -> Inbound:
    """Parses one frame. Engines may send JSON as text or binary frames. Never raises."""
    if isinstance(frame, bytes):
        try:
            frame = frame.decode("utf-8")
        except UnicodeDecodeError as cause:
            return BadFrame(f"the frame is not UTF-8: {cause}")
    try:
        members = decode_json(frame)
    except NotJson as cause:
        return _read_not_json(frame, cause)
    if not isinstance(members, dict):
        return BadFrame("the frame is not a JSON object")
    kind = members.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    if reader is None:
        return Ignored()
    try:
        message = reader(members)
        if isinstance(message, Invocation) and MARK in frame:
            return replace(message, may_name_channels=True)
        return message
    except _Malformed as cause:
        invocation_id = members.get("invocation_id")
        function_id = members.get("function_id")
        return BadFrame(
            f"{kind}: {cause}",
            kind,
            invocation_id if isinstance(invocation_id, str) and is_uuid(invocation_id) else None,
            function_id if isinstance(function_id, str) else "",
        )


def _read_not_json(frame: str, cause: NotJson) -> Inbound:
    if frame.strip() == "":
        return Ignored()
    envelope = envelope_behind_payload(frame)
    if envelope is None:
        return BadFrame(f"the frame is not JSON: {cause}")
    kind, invocation_id, function_id = (envelope.get(name) for name in ("type", "invocation_id", "function_id"))
    if not isinstance(kind, str) or not isinstance(function_id, str) or not is_uuid(invocation_id):
        return BadFrame(f"the frame is not JSON: {cause}")
    return BadFrame("the payload is not JSON", kind, str(invocation_id), function_id)


def _invocation(members: dict[str, object]) -> Invocation:
    invocation_id = members.get("invocation_id")
    if invocation_id is not None and not is_uuid(invocation_id):
        raise _Malformed("`invocation_id` is not a UUID")
    return Invocation(
        invocation_id if isinstance(invocation_id, str) else None,
        _string(members, "function_id"),
        members.get("data"),
        members.get("metadata"),
        _caller(members.get("caller")),
        _job(members.get("job")),
        _text(members.get("traceparent")),
        _text(members.get("baggage")),
    )


def _answer(members: dict[str, object]) -> Answer:
    error = members.get("error")
    return Answer(
        _string(members, "invocation_id"), members.get("result"), CallError.from_wire(error) if error else None
    )


def _cancel(members: dict[str, object]) -> Cancel:
    return Cancel(_string(members, "invocation_id"), _text(members.get("reason")) or "cancelled")


def _welcome(members: dict[str, object]) -> Welcome:
    return Welcome(
        _string(members, "worker_id"), _text(members.get("reattach_token")), members.get("engine") is not None
    )


def _bind(members: dict[str, object]) -> Bind:
    trigger_id, trigger_type = _string(members, "id"), _string(members, "trigger_type")
    function_id = _string(members, "function_id")
    return Bind(trigger_id, trigger_type, function_id, members.get("config"), members.get("metadata"))


def _unbind(members: dict[str, object]) -> UnbindRequest:
    return UnbindRequest(_string(members, "id"))


def _trigger_result(members: dict[str, object]) -> TriggerResult:
    raw_error = members.get("error")
    error = CallError.from_wire(raw_error) if raw_error else None
    named = next((known for known in get_args(TriggerStatus) if known == members.get("status")), None)
    status: TriggerStatus = named or ("active" if error is None else "error")
    reason = _text(members.get("reason")) or (None if error is None else error.message)
    return TriggerResult(_string(members, "id"), status, reason, error)


def _engine_error(members: dict[str, object]) -> EngineError:
    error = CallError.from_wire(members.get("error"))
    details = error.details or {}
    return EngineError(error, _text(details.get("message_type")), _text(details.get("id")))


def _draining(members: dict[str, object]) -> Draining:
    within_ms = members.get("within_ms")
    if within_ms is None:
        return Draining(None)
    if isinstance(within_ms, bool) or not isinstance(within_ms, int) or within_ms < 0:
        raise _Malformed("`within_ms` is not a number of milliseconds")
    return Draining(within_ms)


def _caller(value: object) -> Caller | None:
    if not isinstance(value, dict):
        return None
    worker_id, name = value.get("worker_id"), value.get("name")
    return Caller(worker_id, name) if isinstance(worker_id, str) and isinstance(name, str) else None


def _job(value: object) -> Job | None:
    if not isinstance(value, dict):
        return None
    queue, job_id, attempt = value.get("queue"), value.get("id"), value.get("attempt")
    if isinstance(queue, str) and isinstance(job_id, str) and isinstance(attempt, int):
        return Job(queue, job_id, attempt)
    return None


def _string(members: dict[str, object], name: str) -> str:
    value = members.get(name)
    if not isinstance(value, str):
        raise _Malformed(f"`{name}` is not a string")
    return value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


_READERS: dict[str, Callable[[dict[str, object]], Inbound]] = {
    "invokefunction": _invocation,
    "invocationresult": _answer,
    "cancelinvocation": _cancel,
    "workerregistered": _welcome,
    "registertrigger": _bind,
    "unregistertrigger": _unbind,
    "triggerregistrationresult": _trigger_result,
    "error": _engine_error,
    "draining": _draining,
    "ping": lambda _: Ping(),
    "pong": lambda _: Pong(),
}
